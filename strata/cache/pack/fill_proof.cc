#include "strata/cache/pack/fill_proof.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/host/host_placement.h"
#include "strata/cache/pack/slot_reader.h"
#include "strata/cache/pack/slot_reference.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/tier/expert_mover.h"
#include "strata/cache/tier/expert_table.h"
#include "strata/cache/tier/expert_tier.h"
#include "strata/cache/tier/slot_cache.h"
#include "strata/cache/tier/slot_loan.h"
#include "strata/cache/tier/tier_counters.h"
#include "strata/core/device.h"
#include "strata/core/device_event.h"
#include "strata/core/gguf/blob_layout.h"
#include "strata/core/mutex.h"
#include "strata/core/status_macros.h"
#include "strata/core/stopwatch.h"

namespace strata {
namespace {

constexpr int kSwapsOfRound = 32;
// Far longer than any one copy takes.
constexpr std::chrono::minutes kMostTimeOfAChange(2);

// Every use of an expert makes it hot, and the next round forgets it.
SwapPolicy::Options EagerPolicy() {
  return {.adapt_every = 1, .max_swaps = kSwapsOfRound, .decay = 0};
}

// By which a single use pays for a swap.
SwapRates EagerRates() { return {.copy_bytes_per_ns = 1000, .miss_ns_per_byte = 1}; }

std::vector<ExpertId> IdsOf(const ExpertGeometry& geometry, absl::Span<const int> numbers) {
  std::vector<ExpertId> ids;
  for (const int number : numbers) ids.push_back(geometry.IdOf(number));
  return ids;
}

}  // namespace

FillProof::FillProof(const Options& options, const ExpertGeometry& geometry,
                     const ExpertFiles& files, const SlotReference& reference, Device& device)
    : options_(options),
      geometry_(geometry),
      files_(files),
      reference_(reference),
      device_(device),
      random_(options.seed) {}

absl::StatusOr<std::unique_ptr<FillProof>> FillProof::Create(const Options& options,
                                                             const ExpertGeometry& geometry,
                                                             const ExpertFiles& files,
                                                             const SlotReference& reference,
                                                             Device& device) {
  auto proof = absl::WrapUnique(new FillProof(options, geometry, files, reference, device));
  RETURN_IF_ERROR(proof->Place());
  return proof;
}

absl::Status FillProof::Place() {
  const SlotPlan plan(geometry_, options_.slots, options_.hottest_first);
  const std::vector<ExpertId> hottest_first =
      IdsOf(geometry_, SlotPlan::CompleteRanking(geometry_, options_.hottest_first));
  HostPlacement::Options host = options_.host;
  host.num_spare_places = std::min(kSwapsOfRound, plan.num_slots());
  ASSIGN_OR_RETURN(host_, HostPlacement::Create(host, files_, device_, hottest_first,
                                                IdsOf(geometry_, plan.experts())));
  ASSIGN_OR_RETURN(tier_,
                   ExpertTier::Create({.policy = EagerPolicy(),
                                       .aliases = host_->stages_unpinned() ? AliasRule::kPinnedOnly
                                                                           : AliasRule::kAnyMemory,
                                       .swap_share = 1,
                                       .hottest_first = options_.hottest_first},
                                      geometry_, plan,
                                      {.device = device_,
                                       .source = host_->source(),
                                       .arena = host_->arena(),
                                       .stages = &host_->stages()}));
  tier_->SetRates(EagerRates());
  ASSIGN_OR_RETURN(reader_, SlotReader::Create(device_, host_->stages(), options_.num_readers));
  return absl::OkStatus();
}

absl::StatusOr<FillReport> FillProof::Fill(std::function<void(const FillProgress&)> progress) {
  return tier_->Fill({.verify = SlotVerify::kNone, .progress = std::move(progress)});
}

absl::StatusOr<FillProof::Verified> FillProof::Verify(int num_slots) {
  Verified verified;
  const std::vector<int> residents = tier_->residents();
  std::vector<int> slots;
  std::vector<SlotReader::Slot> to_read;
  for (int slot = 0; slot < std::min<int>(num_slots, std::ssize(residents)); ++slot) {
    if (residents[static_cast<size_t>(slot)] == SlotCache::kNone) continue;
    slots.push_back(slot);
    to_read.push_back({.data = tier_->slots().data(slot),
                       .bytes = geometry_.BlobBytes(residents[static_cast<size_t>(slot)])});
    verified.bytes += to_read.back().bytes;
  }
  const Stopwatch stopwatch;
  Mutex mutex;
  RETURN_IF_ERROR(reader_->Read(to_read, [&](int64_t i, absl::Span<const std::byte> bytes) {
    const int slot = slots[static_cast<size_t>(i)];
    const ExpertId id = geometry_.IdOf(residents[static_cast<size_t>(slot)]);
    const BlobLayout layout = files_.LayoutOf(id);
    const ExpertSlices& slices = files_.Slices(id);
    for (size_t part = 0; part < slices.size(); ++part) {
      const auto found = bytes.subspan(static_cast<size_t>(layout.offset(static_cast<int>(part))),
                                       static_cast<size_t>(slices[part].bytes));
      ASSIGN_OR_RETURN(const std::optional<SlotReference::Difference> difference,
                       reference_.Compare(id, part, found));
      if (!difference.has_value()) continue;
      MutexLock lock(&mutex);
      verified.faults.push_back(
          {.slot = slot, .expert = id, .part = part, .difference = *difference});
    }
    return absl::OkStatus();
  }));
  verified.num_slots = static_cast<int>(slots.size());
  verified.seconds = static_cast<double>(stopwatch.ns()) / 1e9;
  std::sort(verified.faults.begin(), verified.faults.end(), [](const Fault& a, const Fault& b) {
    return std::tuple(a.slot, a.part) < std::tuple(b.slot, b.part);
  });
  return verified;
}

absl::Status FillProof::Lend(int num_slots) {
  ASSIGN_OR_RETURN(SlotLoan loan, tier_->LendSlots(num_slots));
  RETURN_IF_ERROR(WriteOver(loan.memory(), loan));
  return absl::OkStatus();
}

// Bytes of no expert: what does not come back is seen.
absl::Status FillProof::WriteOver(absl::Span<std::byte> memory, SlotLoan& loan) {
  constexpr size_t kPieceBytes = size_t{16} << 20;
  const std::vector<std::byte> piece(std::min(kPieceBytes, memory.size()), std::byte{0xa5});
  ASSIGN_OR_RETURN(const DeviceStream stream, device_.CreateStream());
  RETURN_IF_ERROR(loan.ready_after().HoldBack(device_, stream));
  while (!memory.empty()) {
    const absl::Span<std::byte> part = memory.first(std::min(piece.size(), memory.size()));
    RETURN_IF_ERROR(
        device_.CopyToDevice(part.data(), absl::MakeConstSpan(piece).first(part.size()), stream));
    memory.remove_prefix(part.size());
  }
  ASSIGN_OR_RETURN(const DeviceEvent event, device_.Record(stream));
  loan.ReleaseAfter(event);
  return device_.Wait(event);
}

absl::Status FillProof::LendAndRefill(int num_slots) {
  RETURN_IF_ERROR(Lend(num_slots));
  tier_->FirstTokenOut();
  return Settle();
}

absl::Status FillProof::Swap(int num_swaps) {
  const int num_slots = tier_->slots().num_slots();
  if (num_slots == 0) return absl::FailedPreconditionError("there is no slot to swap in");
  const int64_t goal = tier_->counters().swaps_visible + num_swaps;
  const auto num_left = [&] { return goal - tier_->counters().swaps_visible; };
  bool has_lent = false;
  while (num_left() > 0) {
    // Those that leave for a loan come back into slots of each other, and all have one again.
    if (WithoutSlot().empty()) {
      RETURN_IF_ERROR(Lend(static_cast<int>(std::min<int64_t>(num_left(), num_slots))));
      has_lent = true;
    }
    RETURN_IF_ERROR(StepUntil([&] { return num_left() <= 0 || WithoutSlot().empty(); },
                              [&] { UseRandomExperts(); }));
  }
  if (has_lent) tier_->FirstTokenOut();
  return Settle();
}

// Some of those that have no slot come, hotter the more they are used; of those that have one, any
// that are used more stay.
void FillProof::UseRandomExperts() {
  std::vector<int> outside = WithoutSlot();
  std::shuffle(outside.begin(), outside.end(), random_);
  const size_t most = std::min<size_t>(outside.size(), kSwapsOfRound);
  if (most > 0) outside.resize(1 + random_() % most);
  int uses = 0;
  for (const int number : outside) tier_->CountUses(geometry_.IdOf(number), ++uses, true);
  for (const int number : tier_->residents()) {
    if (number == SlotCache::kNone || random_() % 2 == 0) continue;
    tier_->CountUses(geometry_.IdOf(number), uses + 1, true);
  }
}

absl::Status FillProof::StepUntil(absl::FunctionRef<bool()> done, absl::FunctionRef<void()> use) {
  const auto num_changes = [this] {
    const TierCounters counters = tier_->counters();
    return counters.fills + counters.swaps_visible + counters.swaps_dropped;
  };
  int64_t num_seen = num_changes();
  auto deadline = std::chrono::steady_clock::now() + kMostTimeOfAChange;
  while (!done()) {
    // What cannot be read will not come, however long one waits.
    RETURN_IF_ERROR(CheckCopies());
    const auto now = std::chrono::steady_clock::now();
    if (const int64_t num_now = num_changes(); num_now != num_seen) {
      num_seen = num_now;
      deadline = now + kMostTimeOfAChange;
    }
    if (now > deadline) {
      return absl::UnavailableError(absl::StrCat("slots that should change have not for ",
                                                 kMostTimeOfAChange.count(), " minutes"));
    }
    tier_->BeginStep();
    use();
    tier_->EndStep(DeviceEvent());
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return CheckCopies();
}

absl::Status FillProof::Settle() {
  return StepUntil(
      [this] {
        const TierCounters counters = tier_->counters();
        return tier_->fill_done() && counters.swaps_decided == counters.swaps_visible +
                                                                   counters.swaps_failed +
                                                                   counters.swaps_dropped;
      },
      [] {});
}

absl::Status FillProof::CheckCopies() const {
  const TierCounters counters = tier_->counters();
  if (counters.fills_failed == 0 && counters.swaps_failed == 0) return absl::OkStatus();
  // A file that changed explains it.
  RETURN_IF_ERROR(files_.CheckUnchanged());
  RETURN_IF_ERROR(tier_->fill_report().status);
  return absl::UnavailableError(absl::StrCat(counters.fills_failed, " fills and ",
                                             counters.swaps_failed, " swaps of slots failed"));
}

std::vector<int> FillProof::WithoutSlot() const {
  std::vector<bool> has_slot(static_cast<size_t>(geometry_.size()));
  for (const int number : tier_->residents()) {
    if (number != SlotCache::kNone) has_slot[static_cast<size_t>(number)] = true;
  }
  std::vector<int> without;
  for (int number = 0; number < geometry_.size(); ++number) {
    if (!has_slot[static_cast<size_t>(number)]) without.push_back(number);
  }
  return without;
}

}  // namespace strata
