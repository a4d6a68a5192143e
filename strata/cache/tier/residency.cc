#include "strata/cache/tier/residency.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/host/expert_source.h"
#include "strata/cache/policy/swap_policy.h"
#include "strata/cache/tier/expert_table.h"
#include "strata/cache/tier/slot_cache.h"
#include "strata/core/gguf/blob_layout.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

using Place = SwapPolicy::Place;

EntryForm FormOf(HostForm form) {
  switch (form) {
    case HostForm::kRegistered:
      return EntryForm::kRegistered;
    case HostForm::kArena:
      return EntryForm::kArena;
    case HostForm::kStage:
      return EntryForm::kStage;
    case HostForm::kPageable:
      break;
  }
  return EntryForm::kPageable;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Residency>> Residency::Create(AliasRule rule,
                                                             const ExpertGeometry& geometry,
                                                             const ExpertSource& source,
                                                             SlotCache& slots, ExpertTable& table,
                                                             ExpertPolicy* policy) {
  std::unique_ptr<Residency> residency(new Residency(rule, geometry, source, slots, table, policy));
  for (int first = 0; first < geometry.size(); first += table.max_changes()) {
    const int end = std::min(geometry.size(), first + table.max_changes());
    ASSIGN_OR_RETURN(const bool begun, table.Begin(end - first, ExpertTable::Wait::kForBuffers));
    if (!begun) return absl::UnavailableError("no buffers for the expert table");
    for (int expert = first; expert < end; ++expert) {
      table.Set(expert, residency->AliasOf(expert));
    }
    RETURN_IF_ERROR(table.Commit());
  }
  return residency;
}

Residency::Residency(AliasRule rule, const ExpertGeometry& geometry, const ExpertSource& source,
                     SlotCache& slots, ExpertTable& table, ExpertPolicy* policy)
    : rule_(rule),
      geometry_(geometry),
      source_(source),
      slots_(slots),
      table_(table),
      policy_(policy),
      places_(geometry.size(), Place::kHost) {}

ExpertEntry Residency::AliasOf(int expert) const {
  ExpertEntry entry;
  if (rule_ == AliasRule::kStageOnly) return entry;
  const HostBlob blob = LocateHost(expert);
  if (rule_ == AliasRule::kPinnedOnly && !blob.pinned()) return entry;
  entry.form = FormOf(blob.form);
  for (int i = 0; i < blob.num_parts; ++i) entry.parts[i] = blob.part_array[i].bytes.data();
  return entry;
}

ExpertEntry Residency::EntryInSlot(const Placement& placement) const {
  const std::array<std::byte*, 3> parts = PartsInSlot(placement);
  return {.parts = {parts[0], parts[1], parts[2]}, .form = EntryForm::kSlot};
}

std::array<std::byte*, 3> Residency::PartsInSlot(const Placement& placement) const {
  std::array<std::byte*, 3> parts = {};
  const BlobLayout layout = LayoutOf(placement.expert);
  for (int i = 0; i < layout.num_parts(); ++i) {
    parts[i] = slots_.data(placement.slot) + layout.offset(i);
  }
  return parts;
}

void Residency::SetPlace(int expert, Place place) {
  places_[expert] = place;
  if (policy_ != nullptr) policy_->SetPlace(expert, place);
}

void Residency::SetIdle(int expert) {
  SetPlace(expert, slots_.IsResident(expert) ? Place::kSlot : Place::kHost);
}

absl::StatusOr<bool> Residency::Leave(absl::Span<const Placement> leaving, ExpertTable::Wait wait) {
  ASSIGN_OR_RETURN(const bool begun, table_.Begin(static_cast<int>(leaving.size()), wait));
  if (!begun) return false;
  for (const Placement& each : leaving) table_.Set(each.expert, AliasOf(each.expert));
  RETURN_IF_ERROR(table_.Commit());
  for (const Placement& each : leaving) {
    slots_.StartDraining(each.slot);
    SetIdle(each.expert);
  }
  return true;
}

absl::StatusOr<bool> Residency::Arrive(absl::Span<const Placement> arriving,
                                       ExpertTable::Wait wait) {
  ASSIGN_OR_RETURN(const bool begun, table_.Begin(static_cast<int>(arriving.size()), wait));
  if (!begun) return false;
  for (const Placement& each : arriving) table_.Set(each.expert, EntryInSlot(each));
  RETURN_IF_ERROR(table_.Commit());
  for (const Placement& each : arriving) {
    slots_.EndCopy(each.slot, true);
    SetIdle(each.expert);
  }
  return true;
}

}  // namespace strata
