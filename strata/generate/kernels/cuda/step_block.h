// What changes from one step to the next, in one block of pinned memory that the first kernel of a
// step reads (begin_step.h): the rows, the angles of their positions, pages that sequences got, and
// entries of the expert table that changed. All else about a step is fixed when it is captured.
//
// In memory: DeviceStep, then of each rotation the cosines and sines of kMaxRows rows, then what lands
// where, then the page patches, then the expert patches.
#ifndef STRATA_GENERATE_KERNELS_CUDA_STEP_BLOCK_H_
#define STRATA_GENERATE_KERNELS_CUDA_STEP_BLOCK_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "strata/cache/tier/landing.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/landing_places.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

// A row of a step. Sequences have numbers, below the words of `drawn` (begin_step.h).
struct DeviceStepRow {
  int32_t token = 0;
  int32_t drawn_of = -1;  // Not negative: the token is what this sequence drew last.
  int32_t position = 0;
  int32_t first_page = 0;   // Of its sequence: an index of the page table.
  int32_t logits_row = -1;  // Among the rows that want logits; negative: none wanted.
  int32_t sequence = 0;     // Whose word gets what the row draws.
};

// The beginning of the block; the first kernel copies it to device memory for all others.
struct DeviceStep {
  int32_t num_rows = 0;
  int32_t num_wanted = 0;
  int32_t num_page_patches = 0;
  int32_t num_expert_patches = 0;
  DeviceStepRow rows[kMaxRows] = {};
  int32_t wanted[kMaxRows] = {};  // The rows that want logits, ascending.
};
static_assert(sizeof(DeviceStep) % 16 == 0);

// table[index] = address
struct PagePatch {
  int64_t index = 0;
  std::byte* address = nullptr;
};

// Entry `index` of the expert table becomes these 32 bytes: three addresses and what the cache
// keeps beside them (cache/tier/expert_table.h).
struct ExpertPatch {
  int64_t index = 0;
  uint64_t padding = 0;  // Before the entry, which is moved by words of 16 bytes.
  uint64_t entry[4] = {};
};
static_assert(sizeof(PagePatch) == 16 && sizeof(ExpertPatch) == 48);

// Where the parts of a block lie. A rotation of n dimensions has n floats a row: n / 2 cosines,
// then n / 2 sines.
struct StepBlockLayout {
  static constexpr int kMaxRotations = 4;

  int num_rotations = 0;
  int rotation_dims[kMaxRotations] = {};
  int max_landing_groups = 0;  // 0: nothing lands.
  int max_offers = 0;
  int max_page_patches = 0;
  int max_expert_patches = 0;

  // In floats from the beginning of the rotary part; its end for rotation == num_rotations.
  STRATA_NUMERIC int64_t rotation_offset(int rotation) const {
    int64_t offset = 0;
    for (int i = 0; i < rotation; ++i) offset += int64_t{kMaxRows} * rotation_dims[i];
    return offset;
  }
  STRATA_NUMERIC int64_t rotary_floats() const { return rotation_offset(num_rotations); }
  // In bytes from the beginning of the block.
  STRATA_NUMERIC static int64_t rotary_bytes_offset() { return sizeof(DeviceStep); }
  // A DeviceLandingHead, the groups, then the offers.
  STRATA_NUMERIC int64_t landings_offset() const {
    return rotary_bytes_offset() + rotary_floats() * int64_t{sizeof(float)};
  }
  STRATA_NUMERIC static int64_t landing_groups_offset() { return sizeof(DeviceLandingHead); }
  STRATA_NUMERIC int64_t offers_offset() const {
    return landing_groups_offset() + max_landing_groups * int64_t{sizeof(DeviceLandingGroup)};
  }
  STRATA_NUMERIC int64_t landings_bytes() const {
    if (max_landing_groups == 0) return 0;
    return offers_offset() + max_offers * int64_t{sizeof(LandingOffer)};
  }
  STRATA_NUMERIC int64_t page_patches_offset() const {
    return landings_offset() + landings_bytes();
  }
  STRATA_NUMERIC int64_t expert_patches_offset() const {
    return page_patches_offset() + max_page_patches * int64_t{sizeof(PagePatch)};
  }
  STRATA_NUMERIC int64_t bytes() const {
    return expert_patches_offset() + max_expert_patches * int64_t{sizeof(ExpertPatch)};
  }
};

// Writes a block. The memory is borrowed, 16-byte aligned and layout.bytes() long; it is not
// written again before the step that reads it has ended. Used by the decode thread alone.
class StepBlock {
 public:
  StepBlock(const StepBlockLayout& layout, std::byte* memory);

  // An empty step.
  void Clear();
  // Returns its number. wants_logits gives it the next of the rows that want logits.
  int AddRow(DeviceStepRow row, bool wants_logits);
  // The cosines and sines of a row, to be filled for each rotation.
  absl::Span<float> Angles(int rotation, int row);
  // False when there is no room: the patch belongs to another step.
  [[nodiscard]] bool PatchPage(int64_t index, std::byte* address);
  [[nodiscard]] bool PatchExpert(int64_t index, absl::Span<const std::byte> entry);
  // What the step offers; nothing before the first call. False when there is no room.
  [[nodiscard]] bool OfferLandings(int first_layer, absl::Span<const LandingGroup> groups,
                                   absl::Span<const LandingOffer> offers);

  const DeviceStep& step() const { return *step_; }

 private:
  const StepBlockLayout layout_;
  std::byte* const memory_;
  DeviceStep* step_ = nullptr;
};

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_STEP_BLOCK_H_
