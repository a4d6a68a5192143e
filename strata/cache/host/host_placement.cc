#include "strata/cache/host/host_placement.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/host/expert_source.h"
#include "strata/cache/host/pinned_arena.h"
#include "strata/cache/host/registered_experts.h"
#include "strata/cache/stage/stage_pool.h"
#include "strata/core/device.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/host_memory.h"
#include "strata/core/pin_budget.h"
#include "strata/core/pin_limits.h"
#include "strata/core/status_macros.h"
#include "strata/core/stopwatch.h"

namespace strata {
namespace {

PinBudget MakeBudget(std::optional<int64_t> bytes, const Device& device) {
  if (bytes.has_value()) return PinBudget(*bytes, "--pin_budget");
  const DefaultPinBudget chosen =
      ChooseDefaultPinBudget(ReadPinLimits(), device.properties().pins_count_as_locked);
  return PinBudget(chosen.bytes, chosen.origin);
}

HostMemory::Options StageMemory(const HostPlacement::Options& options) {
  return {.form = options.pinned_stages ? HostMemoryForm::kRegistered : HostMemoryForm::kPageable};
}

bool StagesUnpinned(HostPlacement::Choice choice, const Device& device) {
  if (device.properties().is_gpu) return true;
  return choice != HostPlacement::Choice::kAuto && choice != HostPlacement::Choice::kPageable;
}

}  // namespace

std::optional<HostPlacement::Choice> HostPlacement::ParseChoice(absl::string_view name) {
  if (name == "auto") return Choice::kAuto;
  if (name == "registered") return Choice::kRegistered;
  if (name == "arena") return Choice::kArena;
  if (name == "stage") return Choice::kStage;
  if (name == "pageable") return Choice::kPageable;
  return std::nullopt;
}

absl::StatusOr<std::unique_ptr<HostPlacement>> HostPlacement::Create(
    const Options& options, const ExpertFiles& files, Device& device,
    absl::Span<const ExpertId> hottest_first, absl::Span<const ExpertId> resident) {
  std::unique_ptr<HostPlacement> placement =
      absl::WrapUnique(new HostPlacement(options, files, device));
  const Stopwatch stopwatch;
  RETURN_IF_ERROR(placement->PlaceStages());
  RETURN_IF_ERROR(placement->PlaceExperts(hottest_first, resident));
  placement->pin_ms_ = stopwatch.ms();
  return placement;
}

HostPlacement::HostPlacement(const Options& options, const ExpertFiles& files, Device& device)
    : options_(options),
      files_(files),
      device_(device),
      budget_(MakeBudget(options.pin_budget, device)),
      memory_(device, budget_),
      reader_(files),
      stages_unpinned_(StagesUnpinned(options.choice, device)) {}

bool HostPlacement::UsesRegistration() const {
  if (options_.choice == Choice::kRegistered) return true;
  return options_.choice == Choice::kAuto && device_.properties().is_gpu &&
         device_.properties().can_register_read_only;
}

bool HostPlacement::UsesArena() const {
  if (!options_.may_use_arena) return false;
  return options_.choice == Choice::kArena ||
         (options_.choice == Choice::kAuto && device_.properties().is_gpu);
}

absl::Status HostPlacement::PlaceStages() {
  HostMemory memory(device_, budget_, StageMemory(options_));
  ASSIGN_OR_RETURN(stages_, StagePool::Create({.stage_bytes = files_.max_blob_bytes(),
                                               .num_stages = options_.num_stages},
                                              memory));
  return absl::OkStatus();
}

absl::Status HostPlacement::PlaceExperts(absl::Span<const ExpertId> hottest_first,
                                         absl::Span<const ExpertId> resident) {
  const absl::flat_hash_set<ExpertId, ExpertFiles::Hash> in_slots(resident.begin(), resident.end());
  std::vector<ExpertId> missed_first(hottest_first.begin(), hottest_first.end());
  const auto first_resident =
      std::stable_partition(missed_first.begin(), missed_first.end(),
                            [&](ExpertId id) { return !in_slots.contains(id); });
  if (UsesRegistration()) {
    registered_ = std::make_unique<RegisteredExperts>(files_, device_, budget_);
    registered_->Register(missed_first);
  }
  missed_first.erase(first_resident, missed_first.end());
  if (UsesArena()) RETURN_IF_ERROR(FillArena(missed_first));
  source_ = std::make_unique<ExpertSource>(reader_, registered_.get(), arena_.get());
  return absl::OkStatus();
}

absl::Status HostPlacement::FillArena(absl::Span<const ExpertId> hottest_first) {
  const ExpertSource in_place(reader_, registered_.get(), nullptr);
  int64_t bytes = PinnedArena::SpareBytes(files_, options_.num_spare_places);
  std::vector<ExpertId> wanted;
  for (const ExpertId id : hottest_first) {
    if (in_place.Locate(id).pinned()) continue;
    bytes += files_.BlobBytes(id);
    if (bytes > options_.max_arena_bytes) break;
    wanted.push_back(id);
  }
  if (wanted.empty()) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<PinnedArena>> arena = PinnedArena::Create(
      {.num_spare_places = options_.num_spare_places}, wanted, reader_, memory_);
  if (arena.ok()) {
    arena_ = *std::move(arena);
  } else if (absl::IsResourceExhausted(arena.status())) {
    LOG(WARNING) << "no arena of experts, they go through stages: " << arena.status().message();
  } else {
    return arena.status();
  }
  return absl::OkStatus();
}

std::string HostPlacement::Describe() const {
  std::array<int64_t, kNumHostForms> num = {}, bytes = {};
  for (const ExpertId id : files_.ids()) {
    HostForm form = source_->Locate(id).form;
    if (form == HostForm::kPageable && stages_unpinned_) form = HostForm::kStage;
    ++num[static_cast<int>(form)];
    bytes[static_cast<int>(form)] += files_.BlobBytes(id);
  }
  std::vector<std::string> parts;
  const auto add = [&](HostForm form, const std::string& where) {
    const int i = static_cast<int>(form);
    if (num[i] == 0) return;
    parts.push_back(absl::StrFormat("%d %s (%.1f MiB)", num[i], where, bytes[i] / double{1 << 20}));
  };
  add(HostForm::kRegistered, "pinned in the file");
  add(HostForm::kArena, "in the pinned arena");
  add(HostForm::kStage,
      absl::StrCat("read through ", stages_->num_stages(),
                   stages_->memory().pinned() ? " pinned stages" : " pageable stages"));
  add(HostForm::kPageable, "in the file's mapping");
  return absl::StrJoin(parts, ", ");
}

}  // namespace strata
