#include "strata/generate/kernels/cuda/prompt_launch.h"

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "strata/core/block_type.h"
#include "strata/core/status_macros.h"
#include "strata/generate/blocks/activation_form.h"
#include "strata/generate/kernels/cuda/kernel_limits.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/prompt_arguments.h"
#include "strata/generate/kernels/cuda/prompt_kernels.h"
#include "strata/generate/kernels/cuda/prompt_product.h"

namespace strata {
namespace {

constexpr int kWideTile = 128;
constexpr int kNarrowTile = 64;
// With fewer blocks than about this, narrow tiles use a card better than wide ones.
constexpr int64_t kFewBlocks = 128;

PromptKernel FindKernel(BlockType type, bool is_wide) {
  for (const auto find :
       {FindPromptKernelOfK, FindPromptKernelOfBlocks, FindPromptKernelOfValues,
        FindPromptKernelOfGrids, FindPromptKernelOfFew, FindPromptKernelOfNumbers}) {
    const PromptKernel kernel = find(type, is_wide);
    if (kernel.kernel != nullptr) return kernel;
  }
  return {};
}

// Numbers the tiles of weights of all targets and returns their count.
int CountWeightTiles(PromptArguments& arguments) {
  const int tile = arguments.is_gated ? kPromptTileWeights / 2 : kPromptTileWeights;
  const int targets = arguments.is_gated ? 1 : arguments.num_targets;
  int tiles = 0;
  for (int i = 0; i < targets; ++i) {
    arguments.targets[i].first_tile = tiles;
    tiles += (arguments.targets[i].rows + tile - 1) / tile;
  }
  return tiles;
}

bool IsWide(const PromptArguments& arguments, const PromptVectors& vectors, int weight_tiles,
            const PromptPlan& plan) {
  if (arguments.tiles != nullptr) return arguments.tile_entries == kWideTile;
  if (plan.tile_rows != 0) return plan.tile_rows == kWideTile;
  const int64_t wide_tiles = (vectors.count + kWideTile - 1) / kWideTile;
  return vectors.count > kNarrowTile && wide_tiles * weight_tiles >= kFewBlocks;
}

void CheckForms(BlockType type, const PromptArguments& arguments) {
  const DeviceActivations& x = arguments.x;
  CHECK_EQ(x.size, arguments.columns);
  CHECK_EQ(arguments.columns % InfoOf(type).block_weights, 0) << InfoOf(type).name;
  switch (*ActivationFormOf(type)) {
    case ActivationForm::kF32:
      CHECK(x.values != nullptr);
      return;
    case ActivationForm::kA32:
      CHECK(x.a32.q != nullptr);
      return;
    case ActivationForm::kA256:
      CHECK(x.a256.q != nullptr);
      return;
  }
}

}  // namespace

absl::Status LaunchPromptKernel(absl::string_view name, BlockType type, PromptArguments arguments,
                                const PromptVectors& vectors, const PromptPlan& plan,
                                const KernelStream& stream) {
  CHECK(vectors.count > 0 && arguments.num_targets > 0);
  CHECK(plan.tile_rows == 0 || plan.tile_rows == kWideTile || plan.tile_rows == kNarrowTile);
  const BlockTypeInfo& info = InfoOf(type);
  const int weight_tiles = CountWeightTiles(arguments);
  PromptKernel kernel = FindKernel(type, IsWide(arguments, vectors, weight_tiles, plan));
  if (kernel.kernel == nullptr) {
    return absl::UnimplementedError(absl::StrCat("no prompt kernel for weights of ", info.name));
  }
  CheckForms(type, arguments);
  arguments.row_bytes = int64_t{arguments.columns} / info.block_weights * info.block_bytes;
  const int width = kernel.tile_vectors;
  int64_t vector_tiles = (vectors.count + width - 1) / width;
  if (arguments.tiles != nullptr) {
    vector_tiles = vectors.max_tiles * std::max(1, arguments.tile_entries / width);
  }
  RETURN_IF_ERROR(AllowSharedBytes(name, kernel.kernel, kernel.shared_bytes));
  return LaunchKernel(
      name, kernel.kernel,
      {.grid = dim3(static_cast<unsigned>(weight_tiles), static_cast<unsigned>(vector_tiles)),
       .block = static_cast<unsigned>(kernel.threads),
       .shared_bytes = kernel.shared_bytes},
      stream, arguments);
}

}  // namespace strata
