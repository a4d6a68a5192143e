#include "strata/generate/kernels/cuda/product_launch.h"

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "cuda_runtime.h"
#include "glog/logging.h"
#include "strata/core/block_type.h"
#include "strata/core/cuda_status.h"
#include "strata/core/status_macros.h"
#include "strata/generate/kernels/cuda/group_dot.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/one_row_launch.h"
#include "strata/generate/kernels/cuda/product_kernels.h"
#include "strata/generate/kernels/cuda/product_parameters.h"
#include "strata/generate/kernels/cuda/product_plan.h"

namespace strata {
namespace {

// Weights of a block in shared memory: as many that several blocks of a multiprocessor have enough
// bytes on their way.
constexpr int64_t kTileBytes = 40 << 10;
// Of activations, for steps of several rows.
constexpr int64_t kVectorBytes = 80 << 10;
// Vectors of a pass of kSum, if a row has no more.
constexpr int kSlotsOfPass = 32;

struct Card {
  int multiprocessors = 0;
  int shared_bytes = 0;  // That a block may have.
};

absl::Status FindCard(Card& card) {
  int device = 0;
  RETURN_IF_ERROR(CudaStatus(cudaGetDevice(&device), "cudaGetDevice"));
  RETURN_IF_ERROR(CudaStatus(
      cudaDeviceGetAttribute(&card.multiprocessors, cudaDevAttrMultiProcessorCount, device),
      "cudaDeviceGetAttribute"));
  return CudaStatus(
      cudaDeviceGetAttribute(&card.shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
      "cudaDeviceGetAttribute");
}

ProductKernelPointer FindKernel(BlockType type, int vectors) {
  for (const auto find :
       {FindKernelOfK4K5, FindKernelOfK2K3K6, FindKernelOfCodes32, FindKernelOfValues,
        FindKernelOfGrids, FindKernelOfTernary, FindKernelOfNumbers}) {
    if (const ProductKernelPointer kernel = find(type, vectors)) return kernel;
  }
  return nullptr;
}

int64_t RoundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

int CeilDiv(int64_t a, int64_t b) { return static_cast<int>((a + b - 1) / b); }

// A vector in shared memory: q, scales, sums; or values.
void LayOutVector(const GroupFormat& format, ProductParameters& p) {
  const int columns = p.columns;
  if (format.kind == WeightKind::kNumbers) {
    p.vector_stride = static_cast<int>(RoundUp(int64_t{columns} * 4, 16));
    return;
  }
  const bool is_a256 = format.kind == WeightKind::kBlocks256;
  p.scales_offset = columns;
  p.sums_offset = static_cast<int>(RoundUp(columns + columns / (is_a256 ? 256 : 32) * 4, 16));
  const int sums = is_a256 ? columns / 16 : columns / 32;
  p.vector_stride =
      static_cast<int>(RoundUp(p.sums_offset + (format.needs_sums ? 2 * sums : 0), 16));
}

int NumEntries(const ProductParameters& p) {
  return p.routing.experts == nullptr ? p.rows : p.rows * p.routing.num_chosen;
}

int MostExperts(const ProductParameters& p) {
  return p.routing.experts == nullptr ? 1 : std::min(NumEntries(p), p.routing.num_experts);
}

// Offsets in shared memory for the cut that `p` has.
void LayOut(const GroupFormat& format, int vectors, ProductParameters& p) {
  const int tile_rows = 1 << p.log_tile_rows;
  p.virtual_rows = tile_rows * p.segments;
  int64_t at = int64_t{p.virtual_rows} * p.row_stride;
  const auto place = [&at](int64_t bytes) {
    const int64_t begin = at;
    at = RoundUp(begin + bytes, 16);
    return static_cast<int>(begin);
  };
  SharedLayout& shared = p.shared;
  shared.vectors = place(int64_t{p.max_slots} * p.vector_stride);
  shared.grid = place(int64_t{format.grid_words} * 4);
  shared.partials = place(int64_t{vectors} * p.groups * p.virtual_rows * 4);
  shared.results = place(p.mode == ProductMode::kGated ? int64_t{vectors} * p.virtual_rows * 4 : 0);
  const int entries = NumEntries(p);
  const bool is_sum = p.mode == ProductMode::kSum;
  shared.outputs = place(is_sum ? int64_t{entries} * tile_rows * 4 : 0);
  shared.routing = place(is_sum ? int64_t{entries} * 4 : 0);
  shared.row_offsets = place(int64_t{p.virtual_rows} * 2 * 4);
  const int experts = MostExperts(p);
  shared.bases = place(int64_t{experts} * 2 * 8);
  shared.first_slots = place(int64_t{experts + 1} * 4);
  shared.experts = place(int64_t{experts} * 4);
  shared.entries = place(int64_t{entries} * 4);
  shared.choices = place(int64_t{entries} * 4);
  shared.done = place(int64_t{kMaxRows} * 4);
  shared.size = static_cast<int>(at);
}

// Rows of the matrices whose tiles are counted.
int64_t CountTiles(const ProductParameters& p, int tile_rows) {
  switch (p.mode) {
    case ProductMode::kDense: {
      int64_t tiles = 0;
      for (int i = 0; i < p.num_outputs; ++i) tiles += CeilDiv(p.outputs[i].matrix.rows, tile_rows);
      return tiles;
    }
    case ProductMode::kGated:
      return CeilDiv(p.gated.gate.rows, tile_rows);
    case ProductMode::kSum:
      return CeilDiv(p.sum.down.rows, tile_rows);
  }
  return 0;
}

// Segments and vectors that are in shared memory with tiles of so many rows.
void CutSegments(int tile_rows, ProductParameters& p) {
  p.segments = p.mode == ProductMode::kGated ? 2 : 1;
  p.max_slots = p.rows;
  if (p.mode != ProductMode::kSum) return;
  const int64_t segment_bytes = int64_t{tile_rows} * p.row_stride;
  // With one row all its experts, if they fit: their weights are then asked for at once.
  const int64_t budget = p.rows == 1 ? 2 * kTileBytes : kTileBytes;
  p.segments =
      static_cast<int>(std::clamp<int64_t>(budget / segment_bytes, 1, std::min(NumEntries(p), 64)));
  p.max_slots = std::max(p.rows, std::min(NumEntries(p), kSlotsOfPass));
}

// The largest tile that leaves several blocks on each multiprocessor something to do, and whose
// weights do not fill its memory.
int ChooseTileRows(const ProductParameters& p, const Card& card) {
  if (p.mode == ProductMode::kSum) return 8;
  const int segments = p.mode == ProductMode::kGated ? 2 : 1;
  int tile_rows = 32;
  while (tile_rows > 8) {
    const int64_t bytes = int64_t{tile_rows} * segments * p.row_stride;
    const int64_t tiles =
        CountTiles(p, tile_rows) * (p.mode == ProductMode::kGated ? MostExperts(p) : 1);
    if (bytes <= kTileBytes && tiles >= 2 * card.multiprocessors) break;
    tile_rows /= 2;
  }
  return tile_rows;
}

absl::Status CutWork(absl::string_view name, const GroupFormat& format, const ProductPlan& plan,
                     const Card& card, int vectors, ProductParameters& p) {
  int tile_rows = plan.tile_rows > 0 ? plan.tile_rows : ChooseTileRows(p, card);
  for (;; tile_rows /= 2) {
    if (tile_rows == 0) {
      return absl::ResourceExhaustedError(
          absl::StrCat(name, ": rows of ", p.columns, " columns take ", p.shared.size,
                       " bytes of shared memory, a block has ", card.shared_bytes));
    }
    p.log_tile_rows = 0;
    while (1 << (p.log_tile_rows + 1) <= tile_rows) ++p.log_tile_rows;
    CutSegments(1 << p.log_tile_rows, p);
    LayOut(format, vectors, p);
    if (p.shared.size <= card.shared_bytes) break;
  }
  p.tiles = 0;
  for (int i = 0; i < p.num_outputs; ++i) {
    p.outputs[i].first_tile = p.tiles;
    p.tiles += CeilDiv(p.outputs[i].matrix.rows, 1 << p.log_tile_rows);
  }
  if (p.mode != ProductMode::kDense) {
    p.tiles = static_cast<int>(CountTiles(p, 1 << p.log_tile_rows));
  }
  return absl::OkStatus();
}

int ChooseVectors(const ProductParameters& p) {
  // Few rows of a step meet one expert.
  const int rows = p.routing.experts == nullptr ? p.rows : (p.rows + 3) / 4 + (p.rows > 1 ? 1 : 0);
  return rows == 1 ? 1 : rows == 2 ? 2 : 4;
}

int ChooseThreads(const ProductParameters& p, const GroupFormat& format) {
  if (format.kind == WeightKind::kNumbers) return 256;
  const int64_t units = int64_t{CeilDiv(p.virtual_rows, 8)} * 8 * p.groups;
  return static_cast<int>(std::clamp<int64_t>(RoundUp(units, 32), 128, 256));
}

}  // namespace

int RowsAtOnce(BlockType type, int64_t columns, int rows) {
  ProductParameters p;
  p.columns = static_cast<int>(columns);
  LayOutVector(GroupFormatOf(type), p);
  const int64_t fit = kVectorBytes / std::max(p.vector_stride, 1);
  return static_cast<int>(std::clamp<int64_t>(fit, 1, rows));
}

absl::Status LaunchProduct(absl::string_view name, BlockType type, int64_t columns,
                           ProductParameters parameters, const ProductPlan& plan,
                           const KernelStream& stream) {
  const BlockTypeInfo& info = InfoOf(type);
  const GroupFormat format = GroupFormatOf(type);
  const bool is_numbers = format.kind == WeightKind::kNumbers;
  const bool is_shape = columns % (is_numbers ? 4 : info.block_weights) == 0;
  if (plan.vectors == 0 && is_shape && RunsAsOneRow(type, columns, parameters)) {
    return LaunchOneRow(name, type, columns, parameters, plan, stream);
  }
  CHECK(parameters.mailed == nullptr) << "the host computes missed experts of one row alone";
  const int wanted_vectors = plan.vectors > 0 ? plan.vectors : ChooseVectors(parameters);
  const int vectors = is_numbers ? wanted_vectors : std::max(wanted_vectors, 2);
  const ProductKernelPointer kernel = FindKernel(type, vectors);
  if (kernel == nullptr || !is_shape) {
    return absl::UnimplementedError(
        absl::StrCat(name, ": no kernel for weights of ", info.name, " in rows of ", columns));
  }
  Card card;
  RETURN_IF_ERROR(FindCard(card));
  ProductParameters& p = parameters;
  p.columns = static_cast<int>(columns);
  p.groups = is_numbers ? 1 : CeilDiv(columns, kGroupWeights);
  p.row_bytes = static_cast<int>(columns / info.block_weights * info.block_bytes);
  p.is_aligned = p.row_bytes % 16 == 0;
  // A row may begin anywhere in its first 16 bytes, and 7 bytes behind it are read. An odd number
  // of 16 bytes: eight rows are spread over all banks.
  const bool begins_anywhere = !p.is_aligned || p.experts != nullptr;
  p.row_stride = static_cast<int>(RoundUp(p.row_bytes + (begins_anywhere ? 15 : 0) + 7, 16));
  if (p.row_stride % 32 == 0) p.row_stride += 16;
  p.early_weights = plan.early_weights;
  p.groups_first = !p.is_aligned && vectors <= 2;
  LayOutVector(format, p);
  RETURN_IF_ERROR(CutWork(name, format, plan, card, vectors, p));

  const int threads = plan.threads > 0 ? plan.threads : ChooseThreads(p, format);
  RETURN_IF_ERROR(
      CudaStatus(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                      cudaFuncAttributeMaxDynamicSharedMemorySize, p.shared.size),
                 "cudaFuncSetAttribute", p.shared.size));
  int blocks_at_once = 0;
  RETURN_IF_ERROR(CudaStatus(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(
          &blocks_at_once, reinterpret_cast<const void*>(kernel), threads, p.shared.size),
      "cudaOccupancyMaxActiveBlocksPerMultiprocessor"));
  const int64_t tiles = int64_t{p.tiles} * (p.mode == ProductMode::kGated ? MostExperts(p) : 1);
  int64_t blocks = std::min<int64_t>(tiles, int64_t{blocks_at_once} * card.multiprocessors);
  if (plan.blocks > 0) blocks = std::min<int64_t>(blocks, plan.blocks);
  return LaunchKernel(name, kernel,
                      {.grid = dim3(static_cast<unsigned>(blocks)),
                       .block = dim3(static_cast<unsigned>(threads)),
                       .shared_bytes = static_cast<size_t>(p.shared.size)},
                      stream, p);
}

}  // namespace strata
