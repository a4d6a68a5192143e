#include "strata/cache/tier/slot_landings.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/expert_policy.h"
#include "strata/cache/policy/landing_pools.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/tier/expert_entry.h"
#include "strata/cache/tier/expert_table.h"
#include "strata/cache/tier/landing.h"
#include "strata/cache/tier/residency.h"
#include "strata/cache/tier/slot_cache.h"
#include "strata/cache/tier/step_gap.h"
#include "strata/cache/tier/tier_observer.h"
#include "strata/core/gguf/blob_layout.h"

namespace strata {

using Admission = ExpertPolicy::Admission;

LandingPools SlotLandings::PoolsOf(const ExpertGeometry& geometry, const ExpertFiles& files,
                                   const SlotPlan& plan, double share) {
  std::vector<int> size_class_of_layer, class_of_layer;
  std::vector<std::array<int64_t, 4>> layouts;  // By landing class.
  for (size_t layer = 0; layer < geometry.layers().size(); ++layer) {
    const int64_t bytes = geometry.layers()[layer].blob_bytes;
    size_class_of_layer.push_back(strata::SizeClassOf(plan.class_bytes(), bytes));
    const BlobLayout blob =
        files.LayoutOf(geometry.IdOf(static_cast<int>(layer) * geometry.num_experts()));
    const std::array layout = {bytes, blob.offset(0), blob.offset(1), blob.offset(2)};
    const auto known = std::find(layouts.begin(), layouts.end(), layout);
    class_of_layer.push_back(static_cast<int>(known - layouts.begin()));
    if (known == layouts.end()) layouts.push_back(layout);
  }
  std::vector<int> slots_of_size(plan.class_bytes().size(), 0);
  for (int slot = 0; slot < plan.num_slots(); ++slot) ++slots_of_size[plan.ClassOfSlot(slot)];
  return LandingPools(std::move(class_of_layer), size_class_of_layer, slots_of_size, share);
}

SlotLandings::SlotLandings(const Collaborators& collaborators, LandingPools pools,
                           SlotVerify verify)
    : parts_(collaborators),
      pools_(std::move(pools)),
      checks_(parts_.residency, parts_.mover, verify, pools_.NumOffered()),
      groups_(pools_.num_classes()),
      num_empty_(parts_.residency.slots().plan().class_bytes().size(), 0),
      got_alias_(std::make_unique<bool[]>(pools_.NumOffered())),
      wanted_(parts_.residency.geometry().size(), 0),
      marked_(wanted_.size(), 0) {
  CHECK(parts_.residency.table().patched_by_steps());
  CHECK_LT(pools_.num_classes(), 255) << "a mark is a byte";
  const int most = pools_.NumOffered();
  offers_.reserve(most);
  landed_.reserve(most);
  landed_experts_.reserve(most);
  admitted_.reserve(most);
  without_alias_.reserve(most);
  leaving_.reserve(most);
  arriving_.reserve(most);
  free_slots_.reserve(most);
  residents_.reserve(parts_.residency.slots().num_slots());
  KeepPools();
}

void SlotLandings::KeepPools() {
  for (size_t i = 0; i < num_empty_.size(); ++i) {
    const int size_class = static_cast<int>(i);
    parts_.residency.slots().Keep(size_class, on() ? pools_.NumOfferedBySize(size_class) : 0);
  }
}

void SlotLandings::SetOn(bool on) {
  CHECK(offers_.empty()) << "slots are offered";
  on_ = on;
  KeepPools();
}

void SlotLandings::EndFor(const absl::Status& fault) {
  if (!status_.ok()) return;
  status_ = fault;
  KeepPools();
}

// A slot that could not be read back is not wrong.
void SlotLandings::NoteCheck(const absl::Status& checked) {
  if (absl::IsDataLoss(checked)) EndFor(checked);
}

void SlotLandings::Offer(const StepGap& gap) {
  CHECK(offers_.empty()) << "the step before has not ended";
  if (!on()) return;
  MakeRoom(gap);
  first_layer_ = pools_.FirstLayer(gap.next_step);
  for (int i = 0; i < pools_.num_classes(); ++i) OfferTo(i);
  UpdateMarks();
  parts_.journal.OnOffered(gap.next_step, static_cast<int>(offers_.size()));
}

void SlotLandings::MakeRoom(const StepGap& gap) {
  leaving_.clear();
  arriving_.clear();
  const absl::Span<const int> num_empty = parts_.residency.slots().num_empty();
  for (size_t i = 0; i < num_empty.size(); ++i) {
    const int size_class = static_cast<int>(i);
    const int num_missing = pools_.NumOfferedBySize(size_class) - num_empty[i];
    if (num_missing > 0) AddColdest(size_class, num_missing);
  }
  if (!leaving_.empty()) Change(gap);
}

void SlotLandings::AddColdest(int size_class, int most) {
  const SlotCache& slots = parts_.residency.slots();
  residents_.clear();
  for (int slot = 0; slot < slots.num_slots(); ++slot) {
    if (slots.plan().ClassOfSlot(slot) != size_class) continue;
    const bool is_there = slots.state(slot) == SlotState::kResident;
    if (is_there && HasAlias(slots.expert(slot))) residents_.push_back(slots.expert(slot));
  }
  const int num_leaving = std::min<int>(most, static_cast<int>(residents_.size()));
  std::partial_sort(residents_.begin(), residents_.begin() + num_leaving, residents_.end(),
                    [this](int a, int b) { return parts_.policy.IsHotter(b, a); });
  for (int i = 0; i < num_leaving; ++i) {
    leaving_.push_back({residents_[i], slots.SlotOf(residents_[i])});
  }
}

bool SlotLandings::HasAlias(int expert) const {
  return parts_.residency.AliasOf(expert).form != EntryForm::kStage &&
         !parts_.tenants.HasNoAlias(expert);
}

void SlotLandings::OfferTo(int landing_class) {
  SlotCache& slots = parts_.residency.slots();
  LandingGroup& group = groups_[landing_class];
  group = {.first_offer = static_cast<int32_t>(offers_.size())};
  slots.FindEmptySlots(pools_.SizeClassOf(landing_class), pools_.num_offered(landing_class),
                       free_slots_);
  // All experts of the class lie in a slot as this one does.
  const int expert = pools_.FirstLayerOf(landing_class) * parts_.residency.geometry().num_experts();
  for (const int slot : free_slots_) {
    slots.Offer(slot);
    offers_.push_back({.parts = parts_.residency.PartsInSlot({expert, slot}),
                       .slot = slot,
                       .landing_class = landing_class});
  }
  group.num_offers = static_cast<int32_t>(free_slots_.size());
  group.num_early = pools_.NumEarly(landing_class, first_layer_, group.num_offers);
}

void SlotLandings::UpdateMarks() {
  parts_.policy.FindWanted(absl::MakeSpan(wanted_));
  ExpertTable& table = parts_.residency.table();
  const int num_experts = parts_.residency.geometry().num_experts();
  int number = 0;
  for (int layer = 0; layer < pools_.num_layers(); ++layer) {
    const auto mark = static_cast<uint8_t>(1 + pools_.ClassOfLayer(layer));
    for (const int end = number + num_experts; number < end; ++number) {
      // What kernels cannot read does not land.
      const bool is_marked = wanted_[number] != 0 && table.entry(number).form != EntryForm::kStage;
      if (is_marked == (marked_[number] != 0)) continue;
      marked_[number] = is_marked ? 1 : 0;
      table.Mark(number, is_marked ? mark : 0);
    }
  }
}

absl::Status SlotLandings::CheckLanding(const Landing& landing) const {
  const SlotCache& slots = parts_.residency.slots();
  const ExpertGeometry& geometry = parts_.residency.geometry();
  const auto refused = [&](absl::string_view why) {
    return absl::InternalError(absl::StrCat("a step says that expert ", landing.expert,
                                            " has landed in slot ", landing.slot, ", ", why));
  };
  if (landing.expert < 0 || landing.expert >= geometry.size()) return refused("which is none");
  if (slots.SlotOf(landing.expert) != SlotCache::kNone) return refused("but it has a slot");
  const auto offer = std::find_if(offers_.begin(), offers_.end(), [&](const LandingOffer& each) {
    return each.slot == landing.slot;
  });
  if (offer == offers_.end() || slots.state(landing.slot) != SlotState::kOffered) {
    return refused("which was not offered, or is taken");
  }
  const int layer = landing.expert / geometry.num_experts();
  if (pools_.ClassOfLayer(layer) != offer->landing_class)
    return refused("which is of another kind");
  return absl::OkStatus();
}

absl::Status SlotLandings::AddLandings(int64_t step, absl::Span<const Landing> landings) {
  SlotCache& slots = parts_.residency.slots();
  absl::Status status;
  for (const Landing& landing : landings) {
    status = CheckLanding(landing);
    if (!status.ok()) break;
    slots.Land(landing.slot, landing.expert);
    parts_.journal.OnLanded(step, landing.expert, landing.slot);
    landed_.push_back(landing);
    landed_experts_.push_back(landing.expert);
  }
  if (!status.ok()) ForgetLanded();
  EndStep();
  if (!status.ok()) EndFor(status);
  return status_;
}

void SlotLandings::EndStep() {
  SlotCache& slots = parts_.residency.slots();
  for (const LandingOffer& offer : offers_) {
    if (slots.state(offer.slot) == SlotState::kOffered) slots.Withdraw(offer.slot);
  }
  offers_.clear();
  // Kernels give out what groups have.
  std::fill(groups_.begin(), groups_.end(), LandingGroup());
}

void SlotLandings::ForgetLanded() {
  SlotCache& slots = parts_.residency.slots();
  for (const Landing& landing : landed_) {
    // Those that were shown are resident.
    if (slots.state(landing.slot) == SlotState::kCopying) slots.EndCopy(landing.slot, false);
  }
  landed_.clear();
  landed_experts_.clear();
}

absl::Span<const int> SlotLandings::NumEmpty() {
  const SlotCache& slots = parts_.residency.slots();
  for (size_t i = 0; i < num_empty_.size(); ++i) {
    const int size_class = static_cast<int>(i);
    num_empty_[i] = slots.num_empty()[i] - pools_.NumOfferedBySize(size_class);
  }
  for (const Landing& landing : landed_) ++num_empty_[slots.plan().ClassOfSlot(landing.slot)];
  for (int& num_empty : num_empty_) num_empty = std::max(0, num_empty);
  return num_empty_;
}

void SlotLandings::Show(absl::Span<const Admission> admissions, const StepGap& gap) {
  const SlotCache& slots = parts_.residency.slots();
  NoteCheck(checks_.Advance());
  SelectAdmissions(admissions);
  leaving_.clear();
  arriving_.clear();
  for (const auto [newcomer, victim] : admitted_) {
    if (victim >= 0) leaving_.push_back({victim, slots.SlotOf(victim)});
    arriving_.push_back({newcomer, slots.SlotOf(newcomer)});
  }
  const absl::Status checked = checks_.CheckBeforeShown(arriving_);
  NoteCheck(checked);
  // Of several that were compared, nobody says which is right.
  if (checked.ok()) {
    Change(gap);
    checks_.NoteShown(arriving_);
  }
  ForgetLanded();
  NoteCheck(checks_.Advance());
}

void SlotLandings::SelectAdmissions(absl::Span<const Admission> admissions) {
  admitted_.assign(admissions.begin(), admissions.end());
  without_alias_.clear();
  bool is_read = false;
  for (const Admission& each : admitted_) {
    if (each.victim < 0) continue;
    is_read = is_read || checks_.Reads(each.victim);
    if (!HasAlias(each.victim)) without_alias_.push_back(parts_.residency.IdOf(each.victim));
  }
  // The slots of victims are offered next.
  if (is_read || !without_alias_.empty()) FinishChecks();
  if (!without_alias_.empty()) FindAliases();
}

// A complement arena has a spare place for some of them, which is worth waiting for: what has
// landed would be lost.
void SlotLandings::FindAliases() {
  if (!parts_.mover.busy()) {
    const int64_t before = parts_.mover.num_waits();
    parts_.mover.StartAliases(without_alias_, {got_alias_.get(), without_alias_.size()});
    // Inserting tells its outcome by expert.
    static_cast<void>(parts_.mover.Take());
    num_waits_ += parts_.mover.num_waits() - before;
  }
  const auto has_none = [this](const Admission& each) {
    return each.victim >= 0 && !HasAlias(each.victim);
  };
  admitted_.erase(std::remove_if(admitted_.begin(), admitted_.end(), has_none), admitted_.end());
}

void SlotLandings::FinishChecks() { NoteCheck(checks_.Finish()); }

void SlotLandings::Change(const StepGap& gap) {
  SlotCache& slots = parts_.residency.slots();
  // A table that steps patch takes every change.
  const absl::StatusOr<bool> left = parts_.residency.Leave(leaving_, gap.wait);
  CHECK(left.ok() && *left) << left.status();
  for (const auto [expert, slot] : leaving_) {
    slots.EndDraining(slot);
    parts_.journal.OnLeft(gap.next_step, expert, slot, TierObserver::LeftFor::kLanding);
  }
  const absl::StatusOr<bool> arrived = parts_.residency.Arrive(arriving_, gap.wait);
  CHECK(arrived.ok() && *arrived) << arrived.status();
  for (const auto [expert, slot] : arriving_) {
    parts_.tenants.NoteInSlot(expert);
    parts_.journal.OnCameBack(gap.next_step, expert, slot, TierObserver::CameBy::kLanding);
  }
}

}  // namespace strata
