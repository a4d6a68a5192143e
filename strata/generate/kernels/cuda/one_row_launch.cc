#include "strata/generate/kernels/cuda/one_row_launch.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "strata/core/block_type.h"
#include "strata/core/status_macros.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/group_dot.h"
#include "strata/generate/kernels/cuda/kernel_limits.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/one_row_parameters.h"
#include "strata/generate/kernels/cuda/product_kernels.h"
#include "strata/generate/kernels/cuda/product_parameters.h"
#include "strata/generate/kernels/cuda/product_plan.h"

namespace strata {
namespace {

// Every card that these kernels run on gives a block as much (compute capability 8.6).
constexpr int kMaxSharedBytes = 99 << 10;
// Of weights: several blocks of this kernel and of the next share a multiprocessor.
constexpr int kTileBytes = 48 << 10;
constexpr int kMaxTileRows = 32;

OneRowKernelPointer FindKernel(BlockType type, ProductMode mode) {
  for (const auto find :
       {FindOneRowKernelOfK4K5, FindOneRowKernelOfK2K3K6, FindOneRowKernelOfCodes32,
        FindOneRowKernelOfValues, FindOneRowKernelOfGrids, FindOneRowKernelOfTernary}) {
    if (const OneRowKernelPointer kernel = find(type, mode)) return kernel;
  }
  return nullptr;
}

int RoundUp(int value, int multiple) { return (value + multiple - 1) / multiple * multiple; }

int SegmentsOf(const ProductParameters& product) {
  return product.mode == ProductMode::kDense   ? 1
         : product.mode == ProductMode::kGated ? 2
                                               : product.routing.num_chosen;
}

// All but what depends on the rows of a tile.
OneRowShape ShapeOf(BlockType type, int64_t columns, int segments) {
  const BlockTypeInfo& info = InfoOf(type);
  const GroupFormat format = GroupFormatOf(type);
  const bool is_a256 = format.kind == WeightKind::kBlocks256;
  OneRowShape shape;
  shape.columns = static_cast<int>(columns);
  shape.groups = (shape.columns + kGroupWeights - 1) / kGroupWeights;
  shape.row_bytes = static_cast<int>(columns / info.block_weights * info.block_bytes);
  shape.segments = segments;
  shape.scales_offset = shape.groups * kGroupVectorBytes;
  shape.sums_offset = RoundUp(shape.scales_offset + shape.groups * (is_a256 ? 4 : 32), 16);
  shape.vector_stride =
      shape.sums_offset + (format.needs_sums ? shape.groups * (is_a256 ? 32 : 16) : 0);
  shape.partials_stride = shape.groups | 1;
  shape.is_aligned = shape.row_bytes % 16 == 0;
  return shape;
}

// Places everything in shared memory for the rows that the tile has; returns its size.
int LayOut(BlockType type, int num_vectors, OneRowShape& shape) {
  const int tile_rows = 1 << shape.log_tile_rows;
  // A segment may begin anywhere in its first 16 bytes, and 7 bytes behind it are read.
  shape.segment_stride = RoundUp(tile_rows * shape.row_bytes + 15 + 7, 16);
  int at = shape.segments * shape.segment_stride;
  const auto place = [&at](int bytes) {
    const int begin = at;
    at = RoundUp(at + bytes, 16);
    return begin;
  };
  const int places = shape.segments * tile_rows;
  shape.vectors = place(num_vectors * shape.vector_stride);
  shape.grid = place(GroupFormatOf(type).grid_words * 4);
  shape.partials = place(places * shape.partials_stride * 4);
  shape.outputs = place(places * 4);
  shape.begins = place(shape.segments * 4);
  shape.choices = place(shape.segments * 4);
  shape.weights = place(shape.segments * 4);
  return at;
}

int SharedBytes(BlockType type, int num_vectors, int tile_rows, OneRowShape& shape) {
  shape.log_tile_rows = 0;
  while (2 << shape.log_tile_rows <= tile_rows) ++shape.log_tile_rows;
  return LayOut(type, num_vectors, shape);
}

int CountTiles(const ProductParameters& product, int tile_rows) {
  const auto tiles_of = [tile_rows](int rows) { return (rows + tile_rows - 1) / tile_rows; };
  if (product.mode == ProductMode::kSum) return tiles_of(product.sum.down.rows);
  if (product.mode == ProductMode::kGated) return tiles_of(product.gated.gate.rows);
  int tiles = 0;
  for (int i = 0; i < product.num_outputs; ++i) tiles += tiles_of(product.outputs[i].matrix.rows);
  return tiles;
}

int CountBlocks(const ProductParameters& product, int tile_rows) {
  const bool has_experts = product.mode == ProductMode::kGated && product.experts != nullptr;
  return CountTiles(product, tile_rows) * (has_experts ? product.routing.num_chosen : 1);
}

// The largest tile that leaves every multiprocessor a block or two, and does not fill its memory.
int ChooseTileRows(const ProductParameters& product, const OneRowShape& shape,
                   int num_multiprocessors) {
  const int least_blocks = num_multiprocessors * (product.mode == ProductMode::kDense ? 1 : 3) / 2;
  int tile_rows = kMaxTileRows;
  while (tile_rows > 4 && (shape.segments * tile_rows * shape.row_bytes > kTileBytes ||
                           CountBlocks(product, tile_rows) < least_blocks)) {
    tile_rows /= 2;
  }
  return tile_rows;
}

const DeviceInt8Rows& FormOf(BlockType type, const DeviceActivations& x) {
  return GroupFormatOf(type).kind == WeightKind::kBlocks256 ? x.a256 : x.a32;
}

int NumVectors(const ProductParameters& product) {
  return product.mode == ProductMode::kSum ? product.routing.num_chosen : 1;
}

void FillTargets(const ProductParameters& product, OneRowParameters& p) {
  const int tile_rows = 1 << p.shape.log_tile_rows;
  p.tiles = 0;
  for (int i = 0; i < 4; ++i) {
    p.outputs[i] = product.outputs[i];
    p.outputs[i].first_tile = i < product.num_outputs ? p.tiles : std::numeric_limits<int>::max();
    if (i >= product.num_outputs) continue;
    p.tiles += (p.outputs[i].matrix.rows + tile_rows - 1) / tile_rows;
  }
  if (product.mode != ProductMode::kDense) p.tiles = CountTiles(product, tile_rows);
}

}  // namespace

bool RunsAsOneRow(BlockType type, int64_t columns, const ProductParameters& product) {
  if (product.rows != 1 || FindKernel(type, product.mode) == nullptr) return false;
  if (product.mode == ProductMode::kGated && product.gated.quantized_span != 0) return false;
  const bool has_form = product.mode != ProductMode::kSum && FormOf(type, product.x).q != nullptr;
  if (!has_form && product.x.values == nullptr) return false;
  OneRowShape shape = ShapeOf(type, columns, SegmentsOf(product));
  return SharedBytes(type, NumVectors(product), 1, shape) <= kMaxSharedBytes;
}

absl::Status LaunchOneRow(absl::string_view name, BlockType type, int64_t columns,
                          const ProductParameters& product, const ProductPlan& plan,
                          const KernelStream& stream) {
  ASSIGN_OR_RETURN(const int num_multiprocessors, NumMultiprocessors());
  OneRowParameters p;
  p.shape = ShapeOf(type, columns, SegmentsOf(product));
  int tile_rows = plan.tile_rows > 0 ? std::min(plan.tile_rows, kMaxTileRows)
                                     : ChooseTileRows(product, p.shape, num_multiprocessors);
  int shared_bytes = SharedBytes(type, NumVectors(product), tile_rows, p.shape);
  while (shared_bytes > kMaxSharedBytes && tile_rows > 1) {
    tile_rows /= 2;
    shared_bytes = SharedBytes(type, NumVectors(product), tile_rows, p.shape);
  }
  const DeviceInt8Rows& form = FormOf(type, product.x);
  p.x = {.q = form.q, .scales = form.scales, .sums = form.sums, .values = product.x.values};
  p.fault_row = product.first_row;
  p.early_weights = plan.early_weights;
  p.early_choice = product.early_choice;
  p.routing = product.routing;
  p.experts = product.experts;
  p.gated = product.gated;
  p.sum = product.sum;
  FillTargets(product, p);
  const OneRowKernelPointer kernel = FindKernel(type, product.mode);
  RETURN_IF_ERROR(AllowSharedBytes(name, kernel, shared_bytes));
  const int units = (p.shape.segments << p.shape.log_tile_rows) * p.shape.groups;
  const int threads =
      plan.threads > 0 ? plan.threads : std::clamp(RoundUp(units, 32), 64, kMaxOneRowThreads);
  const int blocks = CountBlocks(product, 1 << p.shape.log_tile_rows);
  return LaunchKernel(name, kernel,
                      {.grid = dim3(static_cast<unsigned>(blocks)),
                       .block = dim3(static_cast<unsigned>(threads)),
                       .shared_bytes = static_cast<size_t>(shared_bytes)},
                      stream, p);
}

bool TakesValues(BlockType type, int64_t columns, int rows, int num_vectors) {
  if (rows != 1 || FindKernel(type, ProductMode::kSum) == nullptr) return false;
  OneRowShape shape = ShapeOf(type, columns, num_vectors);
  return SharedBytes(type, num_vectors, 1, shape) <= kMaxSharedBytes;
}

}  // namespace strata
