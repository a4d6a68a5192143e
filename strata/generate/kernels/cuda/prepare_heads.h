// Between the projections of an attention layer and attention itself, in one kernel: queries and
// keys get their norm and their rotation with the bits of rms_norm.h and rotary.h, keys and values
// are stored in their page.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PREPARE_HEADS_H_
#define STRATA_GENERATE_KERNELS_CUDA_PREPARE_HEADS_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "strata/generate/kernels/cuda/kv_page.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/step_block.h"
#include "strata/generate/kernels/cuda/step_fault.h"
#include "strata/generate/model/rotary_options.h"

namespace strata {

// Vectors of all heads of each row: row i begins at i * stride, 16-byte aligned. Queries, keys and
// values may so be parts of one product's result.
struct DeviceHeads {
  const float* values = nullptr;
  int64_t stride = 0;
};

// The norm of queries or keys.
struct DeviceHeadNorm {
  const float* weight = nullptr;  // Null: none.
  bool over_all_heads = false;    // `weight` has a value for each of all heads; else of one.
};

struct DeviceRotation {
  RotaryPairing pairing = RotaryPairing::kNeox;
  int num_dims = 0;               // The first of a head; 0: nothing rotates.
  const float* angles = nullptr;  // Of this rotation, where BeginStep put them.
};

struct PrepareTask {
  int num_rows = 0;
  int num_heads = 0;
  KvLayer kv;
  DeviceHeads query, key, value;
  DeviceHeadNorm query_norm, key_norm;
  float epsilon = 0.0f;
  DeviceRotation rotation;
  const DeviceStep* step = nullptr;
  std::byte* const* page_table = nullptr;
  float* queries = nullptr;  // [rows][num_heads][key_size], for AttendRows; not query.values.
  // A value that is not finite, or too large for the format it is stored in.
  FaultReport fault;
};

absl::Status PrepareHeads(const PrepareTask& task, const KernelStream& stream);

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PREPARE_HEADS_H_
