#include "strata/cache/tier/testing/tier_pieces.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/tier/testing/tier_parts.h"
#include "strata/core/gguf/expert_layout.h"

namespace strata {
namespace {

constexpr int kNumSlots = 4;

std::string Describe(const SwapPolicy::Swap& swap) {
  return absl::StrCat(swap.newcomer, " for ", swap.victim);
}

}  // namespace

std::vector<std::string> WrittenJournal::Take() { return std::exchange(lines_, {}); }

void WrittenJournal::OnSwapDecided(int64_t step, const SwapPolicy::Swap& swap) {
  lines_.push_back(absl::StrCat(step, ": decided ", Describe(swap)));
}
void WrittenJournal::OnSwapVisible(int64_t step, const SwapPolicy::Swap& swap,
                                   const SwapRates& /*rates*/, int slot) {
  lines_.push_back(absl::StrCat(step, ": visible ", Describe(swap), " in ", slot));
}
void WrittenJournal::OnSwapDropped(int64_t step, const SwapPolicy::Swap& swap) {
  lines_.push_back(absl::StrCat(step, ": dropped ", Describe(swap)));
}
void WrittenJournal::OnSwapFailed(int64_t step, const SwapPolicy::Swap& swap) {
  lines_.push_back(absl::StrCat(step, ": failed ", Describe(swap)));
}
void WrittenJournal::OnLeft(int64_t step, int expert, int slot, LeftFor why) {
  lines_.push_back(absl::StrCat(step, ": ", expert, " left ", slot, " for a ",
                                why == LeftFor::kSwap ? "swap" : "loan"));
}
void WrittenJournal::OnCameBack(int64_t step, int expert, int slot, CameBy how) {
  lines_.push_back(absl::StrCat(step, ": ", expert, " came to ", slot, " by a ",
                                how == CameBy::kFill ? "fill" : "refill"));
}
void WrittenJournal::OnFillFailed(int64_t step, int expert) {
  lines_.push_back(absl::StrCat(step, ": ", expert, " failed to come"));
}
void WrittenJournal::OnLent(int64_t step, int num_slots) {
  lines_.push_back(absl::StrCat(step, ": lent ", num_slots));
}
void WrittenJournal::OnRefilled(int64_t /*ns*/) { lines_.push_back("refilled"); }
void WrittenJournal::OnPostponed(int64_t step) {
  lines_.push_back(absl::StrCat(step, ": postponed"));
}

TierPieces::TierPieces(const Options& options) : geometry(GeometryOf(experts, 2)) {
  const SlotPlan plan(geometry, SlotBudget::Slots(kNumSlots), {});
  if (options.arena) {
    std::vector<ExpertId> others;
    for (const ExpertId id : experts.ids()) {
      if (id.index >= 2) others.push_back(id);
    }
    arena = std::move(PinnedArena::Create({.num_spare_places = 2}, others, reader, memory)).value();
  }
  source = std::make_unique<ExpertSource>(reader, nullptr, arena.get());
  slots = SlotCache::Create(plan, geometry.size(), device);
  if (options.image) {
    patches = std::move(StagePool::Create({.stage_bytes = 1024, .num_stages = 8}, memory)).value();
    table =
        std::move(ExpertTable::CreateWithImage(geometry.size(), device, stream, *patches)).value();
  } else {
    table = std::make_unique<ExpertTable>(geometry.size());
  }
  residency = std::move(Residency::Create(AliasRule::kAnyMemory, geometry, *source, *slots, *table))
                  .value();
  tenants = std::make_unique<ArenaTenants>(*residency, arena.get());
}

void TierPieces::Show(int expert, int slot) {
  slots->StartCopy(slot, expert);
  CHECK(*residency->Arrive({{expert, slot}}, ExpertTable::Wait::kForBuffers));
}

void TierPieces::ShowFirst() {
  const std::vector<int> first(slots->plan().experts().begin(), slots->plan().experts().end());
  for (int slot = 0; slot < kNumSlots; ++slot) Show(first[slot], slot);
}

SwapPolicy::Swap TierPieces::Swap(int newcomer, int victim) const {
  return {.newcomer = newcomer, .victim = victim, .bytes = geometry.BlobBytes(newcomer)};
}

}  // namespace strata
