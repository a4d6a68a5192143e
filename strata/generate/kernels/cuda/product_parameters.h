// What a product kernel is given: one struct, passed by value, made by product_launch. Plain
// addresses of device memory.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PRODUCT_PARAMETERS_H_
#define STRATA_GENERATE_KERNELS_CUDA_PRODUCT_PARAMETERS_H_

#include <cstdint>

#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/norm_task.h"
#include "strata/generate/kernels/cuda/step_fault.h"
#include "strata/generate/model/gated_activation.h"

namespace strata {

// A kernel computes tiles. In a tile every matrix that takes part has 2^log_tile_rows rows in
// shared memory: its segment. Rows of all segments are numbered through, segment by segment.
enum class ProductMode {
  kDense,  // A tile has one segment of one output.
  kGated,  // Two: gate and up of an expert, or those that all rows share.
  kSum,    // One for each expert that was chosen, in several passes where there are many.
};

// Of weights x, before anything else is done with it.
struct MatrixOutput {
  const uint8_t* data = nullptr;  // Without experts;
  int part = 0;                   // with them the part of an expert's blob,
  int64_t offset = 0;             // and where in it the matrix begins.
  int rows = 0;
  // One for each expert; without experts, `scale` and the bias of the one matrix.
  const float* scales = nullptr;
  const float* biases = nullptr;
  float scale = 1.0f;
  FaultReport fault;
};

struct DenseTarget {
  MatrixOutput matrix;
  int first_tile = 0;
  float* y = nullptr;
  float divisor = 1.0f;
  const float* residual = nullptr;
  float residual_scale = 1.0f;
};

struct GatedTarget {
  MatrixOutput gate, up;
  GatedActivation activation = GatedActivation::kSilu;
  DeviceActivations hidden;
  int quantized_span = 0;  // Values that are quantized at once: 0, 32 or 256.
  int spans = 0;           // Of a vector.
  uint32_t* tickets = nullptr;
  FaultReport fault;
};

struct SumTarget {
  MatrixOutput down;
  const float* shared = nullptr;
  const float* shared_gate = nullptr;
  float* y = nullptr;
  const float* residual = nullptr;
  float residual_scale = 1.0f;
};

// Where things begin in a block's shared memory, in bytes.
struct SharedLayout {
  int vectors = 0;      // [max_slots][vector_stride]
  int grid = 0;         // The type's grid.
  int partials = 0;     // float [vectors at once][groups][rows]
  int results = 0;      // kGated: float [vectors at once][rows]
  int outputs = 0;      // kSum: float [entries][tile rows]
  int routing = 0;      // kSum: float [entries], the weights
  int row_offsets = 0;  // int [2][rows]: where a row begins in its place, or -1.
  int bases = 0;        // uint64 [experts][segments of one]
  int first_slots = 0;  // int [experts + 1]
  int experts = 0;      // int [experts]
  int entries = 0;      // int [slots]
  int choices = 0;      // int [entries]
  int done = 0;         // int [kMaxRows]
  int size = 0;
};

struct ProductParameters {
  ProductMode mode = ProductMode::kDense;
  int rows = 1;       // Of the step, or of a part of it.
  int first_row = 0;  // The part's in the step, for faults.
  int columns = 0;
  int groups = 0;
  int row_bytes = 0;

  int log_tile_rows = 0;
  int segments = 1;       // At most, at once.
  int virtual_rows = 0;   // Of all segments.
  int row_stride = 0;     // In shared memory.
  int max_slots = 1;      // Vectors in shared memory.
  int vector_stride = 0;  // There: q, then the scales, then the sums; or the values.
  int scales_offset = 0;
  int sums_offset = 0;
  int tiles = 0;              // kGated: of an expert.
  bool is_aligned = false;    // All rows and groups begin at multiples of 16 bytes.
  bool groups_first = false;  // Neighbouring threads take groups of a row, not rows of a group.
  bool early_weights = true;
  bool early_choice = false;  // kSum: see ExpertSum.
  SharedLayout shared;

  DeviceActivations x;    // kSum: by entry, else by row.
  NormTask norm;          // With an x, of a step of one row: what makes the vector.
  DeviceRouting routing;  // Without experts, `experts` is null.
  const DeviceExpert* experts = nullptr;
  // Not null: of a step of one row the experts that are in no slot are computed elsewhere. kSum adds
  // up what comes of them, [num_chosen][down.rows] by rank.
  const float* mailed = nullptr;

  int num_outputs = 0;
  DenseTarget outputs[4];
  GatedTarget gated;
  SumTarget sum;
};

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PRODUCT_PARAMETERS_H_
