#include "strata/cache/tier/testing/tier_soak.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/host/expert_source.h"
#include "strata/cache/tier/expert_table.h"
#include "strata/cache/tier/expert_tier.h"
#include "strata/cache/tier/fill_queue.h"
#include "strata/cache/tier/slot_loan.h"
#include "strata/cache/tier/testing/reading_step.h"
#include "strata/cache/tier/tier_counters.h"
#include "strata/cache/transfer/fill_item.h"
#include "strata/cache/transfer/slot_checker.h"
#include "strata/core/device_event.h"
#include "strata/core/status_macros.h"
#include "strata/core/test_seed.h"

namespace strata {
namespace {

using Host = TierParts::Host;

constexpr int kMaxSwaps = 16;

// What was used last is hot, so that experts swap all the time.
TierParts::Options PartsOf(const TierSoakOptions& options) {
  TierParts::Options parts = {.experts = options.experts,
                              .num_used = options.num_used,
                              .host = options.host,
                              .num_spare_places = kMaxSwaps,
                              .budget = SlotBudget::Slots(options.num_slots),
                              .num_stages = 8};
  parts.tier.policy = {.adapt_every = 1, .max_swaps = kMaxSwaps, .decay = 0.3, .margin = 0};
  parts.tier.aliases = AliasRule::kPinnedOnly;
  parts.tier.miss_path = options.host == Host::kPageable ? MissPath::kStage : MissPath::kRead;
  parts.tier.fill_chunk = 16;
  parts.tier.filler = {.num_readers = 4};
  return parts;
}

class Soak {
 public:
  Soak(Device& device, const TierSoakOptions& options);

  TierParts& parts() { return parts_; }
  absl::Status Fill();
  absl::Status Churn();
  // The slots' experts leave for a prompt and come back.
  absl::Status LendForAPrompt(int num_slots);
  // Steps until nothing is under way; then every expert is read and every slot checked.
  absl::Status Rest();
  void ExpectWhole();
  void Print() const;

 private:
  using Token = std::vector<std::vector<int>>;  // Indices by layer.

  Token NextToken();
  // With two steps in flight, as an engine has.
  absl::Status Step(absl::Span<const int> numbers, const Token& token);
  absl::Status StepWith(const Token& token);
  absl::Status StepThatUsesNothing() { return Step({}, {}); }
  absl::Status FinishSteps();
  absl::Status ReadAllExperts();
  absl::Status CheckSlots();
  absl::Status NoRest() const;
  void ExpectAccountsAgree() const;
  ReadingStep::Counts Counts() const;

  Device& device_;
  const TierSoakOptions options_;
  TierParts parts_;
  ExpertTier& tier_ = *parts_.tier;
  const int max_experts_;  // That a step reads.
  std::array<std::unique_ptr<ReadingStep>, 2> steps_;
  int64_t num_steps_ = 0;
  std::mt19937_64 random_{TestSeed()};
  int window_ = 0;  // Tokens use experts near it.

  // A prompt's: what it writes to the memory it has borrowed, and what it reads there later.
  const DeviceStream prompt_stream_;
  const PinnedMemory written_, read_;
  int64_t num_loans_ = 0, num_wrong_loans_ = 0;
  int64_t num_slots_checked_ = 0;
};

Soak::Soak(Device& device, const TierSoakOptions& options)
    : device_(device),
      options_(options),
      parts_(device, PartsOf(options)),
      max_experts_(2 * options.num_used * options.experts.num_layers),
      prompt_stream_(device.CreateStream().value()),
      written_(device.AllocatePinned(parts_.plan.bytes()).value()),
      read_(device.AllocatePinned(parts_.plan.bytes()).value()) {
  for (std::unique_ptr<ReadingStep>& step : steps_) {
    step = std::make_unique<ReadingStep>(device, parts_.stream, parts_.experts, parts_.geometry,
                                         tier_.table(), max_experts_);
  }
  std::memset(written_.data(), 0xee, written_.size());
}

Soak::Token Soak::NextToken() {
  const int num_experts = parts_.geometry.num_experts();
  if (random_() % 4 == 0) window_ += static_cast<int>(random_() % num_experts);
  Token token(parts_.geometry.layers().size());
  for (std::vector<int>& indices : token) {
    const int first = window_ + static_cast<int>(random_() % 4);
    for (int i = 0; i < options_.num_used; ++i) indices.push_back((first + i * 3) % num_experts);
    std::sort(indices.begin(), indices.end());
    indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  }
  return token;
}

absl::Status Soak::Step(absl::Span<const int> numbers, const Token& token) {
  ReadingStep& step = *steps_[num_steps_++ % steps_.size()];
  RETURN_IF_ERROR(step.Finish());
  tier_.BeginStep();
  ASSIGN_OR_RETURN(DeviceEvent event, step.Launch(numbers));
  for (size_t layer = 0; layer < token.size(); ++layer) {
    const int block = parts_.geometry.layers()[layer].block;
    for (const int index : token[layer]) {
      tier_.CountUses({.layer = block, .index = index}, 1, /*accepted=*/true);
    }
  }
  tier_.EndStep(std::move(event));
  return absl::OkStatus();
}

absl::Status Soak::StepWith(const Token& token) {
  std::vector<int> numbers;
  for (size_t layer = 0; layer < token.size(); ++layer) {
    for (const int index : token[layer]) {
      numbers.push_back(static_cast<int>(layer) * parts_.geometry.num_experts() + index);
    }
  }
  // Victims of swaps are not those that tokens use. They, too, must be whole until they have left.
  while (std::ssize(numbers) < max_experts_) {
    numbers.push_back(static_cast<int>(random_() % parts_.geometry.size()));
  }
  return Step(numbers, token);
}

absl::Status Soak::Fill() {
  if (options_.fills_while_run) {
    tier_.StartFill(SlotVerify::kAll);
    while (!tier_.fill_done()) RETURN_IF_ERROR(StepWith(NextToken()));
  } else {
    RETURN_IF_ERROR(tier_.Fill({.verify = SlotVerify::kAll}).status());
  }
  const FillReport report = tier_.fill_report();
  EXPECT_EQ(report.num_verified, options_.num_slots);
  EXPECT_EQ(report.num_experts, options_.num_slots);
  std::cout << absl::StrFormat("filled and checked %d slots, %.1f MB, at %.2f GB/s\n",
                               report.num_experts, report.num_bytes / 1e6, report.gb_per_s());
  return report.status;
}

absl::Status Soak::Churn() {
  const int64_t end = num_steps_ + options_.num_steps;
  while (num_steps_ < end) {
    RETURN_IF_ERROR(StepWith(NextToken()));
    if (random_() % static_cast<unsigned>(options_.steps_per_loan) == 0) {
      RETURN_IF_ERROR(LendForAPrompt(1 + static_cast<int>(random_() % options_.num_slots)));
    }
    if (random_() % 16 == 0) tier_.FirstTokenOut();
    ExpectAccountsAgree();
  }
  return absl::OkStatus();
}

absl::Status Soak::LendForAPrompt(int num_slots) {
  ASSIGN_OR_RETURN(SlotLoan loan, tier_.LendSlots(num_slots));
  ++num_loans_;
  const bool has_own_stream = random_() % 2 == 0;
  const DeviceStream& stream = has_own_stream ? prompt_stream_ : parts_.stream;
  // The loan before may have been used on the other stream.
  RETURN_IF_ERROR(loan.ready_after().HoldBack(device_, stream));
  const absl::Span<std::byte> memory = loan.memory();
  RETURN_IF_ERROR(device_.CopyToDevice(memory.data(), {written_.data(), memory.size()}, stream));
  for (int i = static_cast<int>(random_() % 4); i > 0; --i) RETURN_IF_ERROR(StepWith(NextToken()));
  // Nobody else has written there meanwhile.
  RETURN_IF_ERROR(device_.CopyToHost({read_.data(), memory.size()}, memory.data(), stream));
  ASSIGN_OR_RETURN(const DeviceEvent read, device_.Record(stream));
  RETURN_IF_ERROR(device_.Wait(read));
  num_wrong_loans_ += std::memcmp(read_.data(), written_.data(), memory.size()) != 0;
  // The loan ends while its last work is still to come.
  RETURN_IF_ERROR(device_.CopyToDevice(memory.data(), {written_.data(), memory.size()}, stream));
  ASSIGN_OR_RETURN(DeviceEvent last_use, device_.Record(stream));
  loan.ReleaseAfter(std::move(last_use));
  if (random_() % 4 != 0) return absl::OkStatus();
  loan = SlotLoan();
  // A loan that comes while the work of this one goes on, and ends unused.
  ++num_loans_;
  return tier_.LendSlots(num_slots).status();
}

void Soak::ExpectAccountsAgree() const {
  const TierCounters counters = tier_.counters();
  EXPECT_EQ(counters.routed, counters.hits + counters.num_misses());
  EXPECT_EQ(counters.waits_for_swaps, 0);
  const int64_t under_way = counters.swaps_decided - counters.swaps_visible -
                            counters.swaps_failed - counters.swaps_dropped;
  EXPECT_GE(under_way, 0);
  EXPECT_LE(under_way, kMaxSwaps) << "more than one round";
}

// What is still under way.
absl::Status Soak::NoRest() const {
  const TierCounters counters = tier_.counters();
  return absl::DeadlineExceededError(absl::StrFormat(
      "the tier finds no rest: the fill is %s; %d slots empty, %d copying, %d draining, %d lent; "
      "%d swaps decided, %d shown, %d failed, %d dropped; %d rounds, %d of them skipped, %d "
      "postponed",
      tier_.fill_done() ? "done" : "not done", tier_.slots().NumIn(SlotState::kEmpty),
      tier_.slots().NumIn(SlotState::kCopying), tier_.slots().NumIn(SlotState::kDraining),
      tier_.slots().NumIn(SlotState::kLent), counters.swaps_decided, counters.swaps_visible,
      counters.swaps_failed, counters.swaps_dropped, counters.rounds, counters.rounds_skipped,
      counters.postponed));
}

absl::Status Soak::Rest() {
  tier_.FirstTokenOut();
  // Fills and swaps take their time beside the steps, and steps without a gap between them leave no
  // room on the link for reading slots back.
  constexpr int kMostSteps = 4000;
  constexpr auto kPause = std::chrono::milliseconds(1);
  int num_steps = 0;
  for (int num_quiet = 0; num_quiet < 3; ++num_steps) {
    if (num_steps == kMostSteps) return NoRest();
    RETURN_IF_ERROR(StepThatUsesNothing());
    RETURN_IF_ERROR(FinishSteps());
    std::this_thread::sleep_for(kPause);
    num_quiet = parts_.IsSettled() ? num_quiet + 1 : 0;
  }
  RETURN_IF_ERROR(ReadAllExperts());
  return CheckSlots();
}

absl::Status Soak::ReadAllExperts() {
  std::vector<int> numbers;
  for (int number = 0; number < parts_.geometry.size(); ++number) {
    numbers.push_back(number);
    if (std::ssize(numbers) < max_experts_ && number + 1 < parts_.geometry.size()) continue;
    RETURN_IF_ERROR(Step(numbers, {}));
    numbers.clear();
  }
  return FinishSteps();
}

absl::Status Soak::FinishSteps() {
  for (const std::unique_ptr<ReadingStep>& step : steps_) RETURN_IF_ERROR(step->Finish());
  return absl::OkStatus();
}

absl::Status Soak::CheckSlots() {
  const std::vector<int> residents = tier_.residents();
  std::vector<FillItem> slots;
  for (int slot = 0; slot < tier_.slots().num_slots(); ++slot) {
    if (residents[slot] < 0) continue;
    slots.push_back({parts_.geometry.IdOf(residents[slot]), tier_.slots().data(slot)});
  }
  EXPECT_GT(std::ssize(slots), options_.num_slots / 2);
  num_slots_checked_ += std::ssize(slots);
  // With the files themselves, not with the arena.
  const ExpertSource files(parts_.reader, nullptr, nullptr);
  ASSIGN_OR_RETURN(const auto checker, SlotChecker::Create(device_, files, *parts_.stages));
  return checker->Check(slots);
}

ReadingStep::Counts Soak::Counts() const {
  ReadingStep::Counts sum;
  for (const std::unique_ptr<ReadingStep>& step : steps_) {
    sum.from_slots += step->counts().from_slots;
    sum.from_host += step->counts().from_host;
    sum.staged += step->counts().staged;
    sum.wrong_entries += step->counts().wrong_entries;
    sum.wrong_experts += step->counts().wrong_experts;
  }
  return sum;
}

void Soak::ExpectWhole() {
  const ReadingStep::Counts counts = Counts();
  EXPECT_EQ(counts.wrong_entries, 0);
  EXPECT_EQ(counts.wrong_experts, 0);
  EXPECT_EQ(num_wrong_loans_, 0);
  EXPECT_EQ(parts_.NumLostPlaces(), 0);
  EXPECT_GT(counts.from_slots, 0);
  EXPECT_EQ(counts.from_host > 0, options_.host != Host::kPageable);
  ExpectAccountsAgree();
  const TierCounters counters = tier_.counters();
  EXPECT_EQ(counters.swaps_failed, 0);
  EXPECT_EQ(counters.fills_failed, 0);
  EXPECT_GT(counters.swaps_visible, 0);
  EXPECT_GT(counters.refilled, 0);
  EXPECT_EQ(parts_.patches->num_free(), parts_.patches->num_stages());
  EXPECT_EQ(parts_.stages->num_free(), parts_.stages->num_stages());
}

void Soak::Print() const {
  const ReadingStep::Counts counts = Counts();
  const TierCounters counters = tier_.counters();
  std::cout << absl::StrFormat(
      "%d steps with blobs of %d bytes: %d swaps shown (%.1f MB), %d dropped; %d loans of %d "
      "slots, %d experts back; %.1f us a step in swap code\n",
      num_steps_, parts_.experts.files().max_blob_bytes(), counters.swaps_visible,
      counters.swap_bytes / 1e6, counters.swaps_dropped, num_loans_, counters.lent,
      counters.refilled, counters.swap_round_ns / 1e3 / num_steps_);
  std::cout << absl::StrFormat(
      "read by steps: %d experts from slots, %d from host memory, %d whose entry alone was "
      "checked, %d wrong, %d "
      "wrong entries; %d slots compared with the files\n",
      counts.from_slots, counts.from_host, counts.staged, counts.wrong_experts,
      counts.wrong_entries, num_slots_checked_);
}

absl::Status RunAll(Soak& soak, int num_slots) {
  RETURN_IF_ERROR(soak.Fill());
  RETURN_IF_ERROR(soak.Churn());
  RETURN_IF_ERROR(soak.Rest());
  RETURN_IF_ERROR(soak.LendForAPrompt(num_slots));
  RETURN_IF_ERROR(soak.Rest());
  soak.ExpectWhole();
  return absl::OkStatus();
}

}  // namespace

void SoakTier(Device& device, const TierSoakOptions& options) {
  Soak soak(device, options);
  if (options.host == Host::kRegistered && soak.parts().registered.registered_bytes() == 0) {
    GTEST_SKIP() << "files in " << ::testing::TempDir() << " cannot be pinned in place";
  }
  ASSERT_EQ(soak.parts().arena != nullptr, options.host == Host::kArena);
  ASSERT_EQ(soak.parts().tier->slots().num_slots(), options.num_slots);
  const absl::Status run = RunAll(soak, options.num_slots);
  EXPECT_TRUE(run.ok()) << run;
  soak.Print();
}

void ExpectSoakFindsWhatIsWrong(Device& device) {
  TierParts parts(device, {.host = Host::kArena});
  ExpertTier& tier = *parts.tier;
  ASSERT_TRUE(tier.Fill({}).ok());
  constexpr int kVictim = 0, kNewcomer = 9;
  ReadingStep step(device, parts.stream, parts.experts, parts.geometry, tier.table(), 2);
  const auto read_both = [&] {
    ASSERT_TRUE(step.Launch({kVictim, kNewcomer}).ok());
    ASSERT_TRUE(step.Finish().ok());
  };
  ASSERT_NO_FATAL_FAILURE(read_both());
  EXPECT_EQ(step.counts().from_slots, 1);
  EXPECT_EQ(step.counts().from_host, 1);
  EXPECT_EQ(step.counts().wrong_experts + step.counts().wrong_entries, 0);

  // The newcomer is in the slot while the victim's entry still points there.
  const std::byte* const slot = tier.Entry(kVictim).parts[0];
  const ExpertSlice& slice = parts.experts.files().Slices(parts.geometry.IdOf(kNewcomer))[0];
  ASSERT_TRUE(device
                  .CopyToDevice(const_cast<std::byte*>(slot), parts.experts.files().Mapped(slice),
                                parts.stream)
                  .ok());
  ASSERT_NO_FATAL_FAILURE(read_both());
  EXPECT_EQ(step.counts().wrong_experts, 1);
  EXPECT_EQ(step.counts().wrong_entries, 0);

  // A patch that the host does not know of, as from a buffer that was reused early.
  const ExpertEntry other = tier.Entry(kVictim);
  const auto other_bytes =
      absl::MakeConstSpan(reinterpret_cast<const std::byte*>(&other), sizeof(other));
  std::byte* const image = const_cast<std::byte*>(tier.table().image());
  ASSERT_TRUE(
      device.CopyToDevice(image + kNewcomer * sizeof(other), other_bytes, parts.stream).ok());
  ASSERT_NO_FATAL_FAILURE(read_both());
  EXPECT_EQ(step.counts().wrong_entries, 1);
}

std::string NameOfHost(const ::testing::TestParamInfo<TierParts::Host>& host) {
  switch (host.param) {
    case Host::kRegistered:
      return "Registered";
    case Host::kArena:
      return "Arena";
    case Host::kPageable:
      return "StagesAlone";
  }
  return "";
}

}  // namespace strata
