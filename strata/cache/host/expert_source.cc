#include "strata/cache/host/expert_source.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/host/blob_reader.h"
#include "strata/cache/host/pinned_arena.h"
#include "strata/cache/host/registered_experts.h"
#include "strata/cache/stage/stage_pool.h"
#include "strata/core/gguf/blob_layout.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

bool IsAligned(const HostBlob& blob) {
  return std::all_of(blob.parts().begin(), blob.parts().end(), [](const HostBlob::Part& part) {
    return reinterpret_cast<uintptr_t>(part.bytes.data()) % ExpertSource::kPartAlignment == 0;
  });
}

}  // namespace

absl::string_view NameOf(HostForm form) {
  constexpr absl::string_view kNames[kNumHostForms] = {"registered", "arena", "stage", "pageable"};
  return kNames[static_cast<int>(form)];
}

ExpertSource::ExpertSource(BlobReader& reader, const RegisteredExperts* registered,
                           const PinnedArena* arena)
    : reader_(reader), registered_(registered), arena_(arena) {}

HostBlob ExpertSource::Locate(ExpertId id) const {
  HostBlob blob = BlobAt(nullptr, HostForm::kPageable, id);
  if (registered_ != nullptr && IsAligned(blob) && registered_->Holds(id)) {
    blob.form = HostForm::kRegistered;
    return blob;
  }
  const std::byte* const copy = arena_ == nullptr ? nullptr : arena_->Find(id);
  return copy == nullptr ? blob : BlobAt(copy, HostForm::kArena, id);
}

absl::StatusOr<HostBlob> ExpertSource::ReadToStage(ExpertId id, StagePool::Stage& stage) {
  RETURN_IF_ERROR(reader_.Read(id, stage.bytes()));
  stage.MarkReady();
  return BlobAt(stage.data(), stage.pinned() ? HostForm::kStage : HostForm::kPageable, id);
}

void ExpertSource::Prefetch(absl::Span<const ExpertId> ids) const {
  for (const ExpertId id : ids) {
    if (!Locate(id).pinned()) reader_.Prefetch({&id, 1});
  }
}

HostBlob ExpertSource::BlobAt(const std::byte* start, HostForm form, ExpertId id) const {
  HostBlob blob;
  blob.form = form;
  const ExpertSlices& slices = files().Slices(id);
  if (start == nullptr && files().LieAsBlob(slices)) start = files().Mapped(slices[0]).data();
  blob.in_one_piece = start != nullptr;
  const BlobLayout layout = slices.layout();
  for (; blob.num_parts < layout.num_parts(); ++blob.num_parts) {
    const ExpertSlice& slice = slices[blob.num_parts];
    const int64_t offset = layout.offset(blob.num_parts);
    blob.part_array[blob.num_parts] = {
        .role = slice.role,
        .bytes = start == nullptr ? files().Mapped(slice)
                                  : absl::MakeConstSpan(start + offset, slice.bytes),
        .offset_in_blob = offset};
  }
  return blob;
}

}  // namespace strata
