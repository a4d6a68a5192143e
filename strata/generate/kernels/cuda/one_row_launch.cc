#include "strata/generate/kernels/cuda/one_row_launch.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "strata/core/block_type.h"
#include "strata/core/status_macros.h"
#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/group_dot.h"
#include "strata/generate/kernels/cuda/kernel_limits.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/one_row_parameters.h"
#include "strata/generate/kernels/cuda/product_kernels.h"
#include "strata/generate/kernels/cuda/product_parameters.h"
#include "strata/generate/kernels/cuda/product_plan.h"
#include "strata/generate/kernels/cuda/residual_row.h"

namespace strata {
namespace {

// Every card that these kernels run on gives a block as much (compute capability 8.6).
constexpr int kMaxSharedBytes = 99 << 10;
constexpr int kWarpLanes = 32;
constexpr int kMaxTileRows = 8;
// Rows of down that a block sums: each block brings all hidden vectors into their form.
constexpr int kSumRows = 16;
static_assert(kMaxChosenExperts <= 2 * kMaxSumWarps);

OneRowKernelPointer FindKernel(BlockType type, ProductMode mode, bool mailed = false) {
  for (const auto find :
       {FindOneRowKernelOfK4K5, FindOneRowKernelOfK2K3K6, FindOneRowKernelOfCodes32,
        FindOneRowKernelOfValues, FindOneRowKernelOfGrids, FindOneRowKernelOfTernary}) {
    if (const OneRowKernelPointer kernel = find(type, mode, mailed)) return kernel;
  }
  return nullptr;
}

int RoundUp(int value, int multiple) { return (value + multiple - 1) / multiple * multiple; }

// Of a warp's tile.
int SegmentsOfTile(ProductMode mode) { return mode == ProductMode::kGated ? 2 : 1; }

// Of a block with so many warps.
int NumSegments(const ProductParameters& product, int warps) {
  return product.mode == ProductMode::kSum ? product.routing.num_chosen
                                           : warps * SegmentsOfTile(product.mode);
}

OneRowShape ShapeOf(BlockType type, int64_t columns) {
  const BlockTypeInfo& info = InfoOf(type);
  const GroupFormat format = GroupFormatOf(type);
  const bool is_a256 = format.kind == WeightKind::kBlocks256;
  OneRowShape shape;
  shape.columns = static_cast<int>(columns);
  shape.groups = (shape.columns + kGroupWeights - 1) / kGroupWeights;
  shape.row_bytes = static_cast<int>(columns / info.block_weights * info.block_bytes);
  shape.scales_offset = shape.groups * kGroupVectorBytes;
  shape.sums_offset = RoundUp(shape.scales_offset + shape.groups * (is_a256 ? 4 : 32), 16);
  shape.vector_stride =
      shape.sums_offset + (format.needs_sums ? shape.groups * (is_a256 ? 32 : 16) : 0);
  shape.is_aligned = shape.row_bytes % 16 == 0;
  return shape;
}

// Places everything in shared memory for tiles of so many rows; returns its size.
int LayOut(BlockType type, int num_segments, int num_vectors, int tile_rows, bool has_norm,
           OneRowShape& shape) {
  shape.tile_rows = tile_rows;
  // A segment may begin anywhere in its first 16 bytes, and 7 bytes behind it are read.
  shape.segment_stride = RoundUp(tile_rows * shape.row_bytes + 15 + 7, 16);
  int at = num_segments * shape.segment_stride;
  const auto place = [&at](int bytes) {
    const int begin = at;
    at = RoundUp(at + bytes, 16);
    return begin;
  };
  shape.vectors = place(num_vectors * shape.vector_stride);
  shape.grid = place(GroupFormatOf(type).grid_words * 4);
  shape.state = place(has_norm ? shape.columns * 4 : 0);
  shape.partials = place(num_segments * tile_rows * shape.groups * 4);
  shape.outputs = place(num_segments * tile_rows * 4);
  shape.ranks = place(num_segments * static_cast<int>(sizeof(OneRowRank)));
  return at;
}

int CountTiles(const ProductParameters& product, int tile_rows) {
  const auto tiles_of = [tile_rows](int rows) { return (rows + tile_rows - 1) / tile_rows; };
  if (product.mode == ProductMode::kSum) return tiles_of(product.sum.down.rows);
  if (product.mode == ProductMode::kGated) return tiles_of(product.gated.gate.rows);
  int tiles = 0;
  for (int i = 0; i < product.num_outputs; ++i) tiles += tiles_of(product.outputs[i].matrix.rows);
  return tiles;
}

// Of the grid. A block of kSum has one tile of each expert, others one a warp.
int CountBlocks(const ProductParameters& product, int tile_rows, int warps) {
  const int tiles = CountTiles(product, tile_rows);
  if (product.mode == ProductMode::kSum) return tiles;
  const bool has_experts = product.mode == ProductMode::kGated && product.experts != nullptr;
  return (tiles * (has_experts ? product.routing.num_chosen : 1) + warps - 1) / warps;
}

// As many rows as give each lane a group.
int ChooseTileRows(ProductMode mode, int groups) {
  if (mode == ProductMode::kSum) return kSumRows;
  return std::clamp(kWarpLanes / (groups * SegmentsOfTile(mode)), 1, kMaxTileRows);
}

const DeviceInt8Rows& FormOf(BlockType type, const DeviceActivations& x) {
  return GroupFormatOf(type).kind == WeightKind::kBlocks256 ? x.a256 : x.a32;
}

int NumVectors(const ProductParameters& product) {
  return product.mode == ProductMode::kSum ? product.routing.num_chosen : 1;
}

void FillTargets(const ProductParameters& product, OneRowParameters& p) {
  const int tile_rows = p.shape.tile_rows;
  p.tiles = CountTiles(product, tile_rows);
  int tile = 0;
  for (int i = 0; i < 4; ++i) {
    p.outputs[i] = product.outputs[i];
    const bool is_there = i < product.num_outputs;
    p.outputs[i].first_tile = is_there ? tile : std::numeric_limits<int>::max();
    if (is_there) tile += (p.outputs[i].matrix.rows + tile_rows - 1) / tile_rows;
  }
}

bool HasNorm(const ProductParameters& product) { return product.norm.x != nullptr; }

// A norm is the work of 128 threads.
int LeastWarps(bool has_norm) { return has_norm ? kRowThreads / kWarpLanes : 1; }

// The least that a block can have: tiles of a row.
bool Fits(BlockType type, int64_t columns, int num_segments, int num_vectors, bool has_norm) {
  OneRowShape shape = ShapeOf(type, columns);
  return LayOut(type, num_segments, num_vectors, 1, has_norm, shape) <= kMaxSharedBytes;
}

// Warps of a block, and how much shared memory it takes; the rest is in the shape.
struct BlockCut {
  int warps = 0;
  int shared_bytes = 0;
};

// As `plan` says, or less where that does not fit.
BlockCut CutBlock(BlockType type, const ProductParameters& product, const ProductPlan& plan,
                  OneRowShape& shape) {
  const bool is_sum = product.mode == ProductMode::kSum;
  const int wanted = plan.threads > 0 ? plan.threads / kWarpLanes : kOneRowWarps;
  const int least =
      is_sum ? std::min(product.routing.num_chosen, kMaxSumWarps) : LeastWarps(HasNorm(product));
  BlockCut cut = {.warps = is_sum ? least : std::clamp(wanted, least, kOneRowWarps)};
  int tile_rows = plan.tile_rows > 0 ? std::min(plan.tile_rows, kWarpLanes / 2)
                                     : ChooseTileRows(product.mode, shape.groups);
  for (;;) {
    cut.shared_bytes = LayOut(type, NumSegments(product, cut.warps), NumVectors(product), tile_rows,
                              HasNorm(product), shape);
    if (cut.shared_bytes <= kMaxSharedBytes) return cut;
    if (tile_rows > 1) {
      tile_rows /= 2;
    } else if (cut.warps > least) {
      cut.warps = std::max(cut.warps / 2, least);
    } else {
      return cut;
    }
  }
}

}  // namespace

bool RunsAsOneRow(BlockType type, int64_t columns, const ProductParameters& product) {
  if (product.rows != 1 || FindKernel(type, product.mode) == nullptr) return false;
  if (product.mode == ProductMode::kGated && product.gated.quantized_span != 0) return false;
  const bool has_form = product.mode != ProductMode::kSum && FormOf(type, product.x).q != nullptr;
  if (!has_form && product.x.values == nullptr && !HasNorm(product)) return false;
  return Fits(type, columns, NumSegments(product, LeastWarps(HasNorm(product))),
              NumVectors(product), HasNorm(product));
}

absl::Status LaunchOneRow(absl::string_view name, BlockType type, int64_t columns,
                          const ProductParameters& product, const ProductPlan& plan,
                          const KernelStream& stream) {
  OneRowParameters p;
  p.shape = ShapeOf(type, columns);
  const BlockCut cut = CutBlock(type, product, plan, p.shape);
  const DeviceInt8Rows& form = FormOf(type, product.x);
  p.x = {.q = form.q, .scales = form.scales, .sums = form.sums, .values = product.x.values};
  p.norm = product.norm;
  p.fault_row = product.first_row;
  p.early_weights = plan.early_weights;
  p.early_choice = product.early_choice;
  p.routing = product.routing;
  p.experts = product.experts;
  p.mailed = product.mailed;
  p.gated = product.gated;
  p.sum = product.sum;
  FillTargets(product, p);
  const bool mailed = product.mailed != nullptr;
  const OneRowKernelPointer kernel = FindKernel(type, product.mode, mailed);
  RETURN_IF_ERROR(AllowSharedBytes(name, kernel, cut.shared_bytes));
  const int num_blocks = CountBlocks(product, p.shape.tile_rows, cut.warps);
  return LaunchKernel(name, kernel,
                      {.grid = dim3(static_cast<unsigned>(num_blocks)),
                       .block = dim3(static_cast<unsigned>(kWarpLanes * cut.warps)),
                       .shared_bytes = static_cast<size_t>(cut.shared_bytes)},
                      stream, p);
}

bool TakesValues(BlockType type, int64_t columns, int rows, int num_vectors) {
  return rows == 1 && FindKernel(type, ProductMode::kSum) != nullptr &&
         Fits(type, columns, num_vectors, num_vectors, /*has_norm=*/false);
}

bool TakesNorm(BlockType type, int64_t columns, int rows) {
  // Gate and up have two segments for each warp.
  return rows == 1 && FindKernel(type, ProductMode::kDense) != nullptr &&
         Fits(type, columns, 2 * LeastWarps(true), 1, /*has_norm=*/true);
}

}  // namespace strata
