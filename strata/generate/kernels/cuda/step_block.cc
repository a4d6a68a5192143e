#include "strata/generate/kernels/cuda/step_block.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <new>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/tier/landing.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/landing_places.h"

namespace strata {

StepBlock::StepBlock(const StepBlockLayout& layout, std::byte* memory)
    : layout_(layout), memory_(memory) {
  CHECK_EQ(reinterpret_cast<uintptr_t>(memory) % 16, 0u);
  Clear();
}

void StepBlock::Clear() {
  step_ = new (memory_) DeviceStep();
  // Offers that no group has are nobody's.
  if (layout_.max_landing_groups == 0) return;
  std::memset(memory_ + layout_.landings_offset(), 0, static_cast<size_t>(layout_.offers_offset()));
}

int StepBlock::AddRow(DeviceStepRow row, bool wants_logits) {
  CHECK_LT(step_->num_rows, kMaxRows);
  const int number = step_->num_rows++;
  row.logits_row = -1;
  if (wants_logits) {
    row.logits_row = step_->num_wanted++;
    step_->wanted[row.logits_row] = number;
  }
  step_->rows[number] = row;
  return number;
}

absl::Span<float> StepBlock::Angles(int rotation, int row) {
  CHECK(0 <= rotation && rotation < layout_.num_rotations) << rotation;
  CHECK(0 <= row && row < kMaxRows) << row;
  auto* const rotary = reinterpret_cast<float*>(memory_ + StepBlockLayout::rotary_bytes_offset());
  const int dims = layout_.rotation_dims[rotation];
  return absl::MakeSpan(rotary + layout_.rotation_offset(rotation) + int64_t{row} * dims,
                        static_cast<size_t>(dims));
}

bool StepBlock::PatchPage(int64_t index, std::byte* address) {
  if (step_->num_page_patches == layout_.max_page_patches) return false;
  auto* const patches = reinterpret_cast<PagePatch*>(memory_ + layout_.page_patches_offset());
  patches[step_->num_page_patches++] = {.index = index, .address = address};
  return true;
}

bool StepBlock::PatchExpert(int64_t index, absl::Span<const std::byte> entry) {
  if (step_->num_expert_patches == layout_.max_expert_patches) return false;
  ExpertPatch patch = {.index = index};
  CHECK_EQ(entry.size(), sizeof(patch.entry));
  std::memcpy(patch.entry, entry.data(), sizeof(patch.entry));
  auto* const patches = reinterpret_cast<ExpertPatch*>(memory_ + layout_.expert_patches_offset());
  patches[step_->num_expert_patches++] = patch;
  return true;
}

bool StepBlock::OfferLandings(int first_layer, absl::Span<const LandingGroup> groups,
                              absl::Span<const LandingOffer> offers) {
  if (std::ssize(groups) > layout_.max_landing_groups || std::ssize(offers) > layout_.max_offers) {
    return false;
  }
  std::byte* const landings = memory_ + layout_.landings_offset();
  reinterpret_cast<DeviceLandingHead*>(landings)->first_layer = first_layer;
  auto* const to =
      reinterpret_cast<DeviceLandingGroup*>(landings + StepBlockLayout::landing_groups_offset());
  for (size_t i = 0; i < groups.size(); ++i) to[i].group = groups[i];
  std::copy(offers.begin(), offers.end(),
            reinterpret_cast<LandingOffer*>(landings + layout_.offers_offset()));
  return true;
}

}  // namespace strata
