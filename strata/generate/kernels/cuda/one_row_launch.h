// Launching the product kernels for steps of one row: which can run, and how they cut their work.
#ifndef STRATA_GENERATE_KERNELS_CUDA_ONE_ROW_LAUNCH_H_
#define STRATA_GENERATE_KERNELS_CUDA_ONE_ROW_LAUNCH_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/product_parameters.h"
#include "strata/generate/kernels/cuda/product_plan.h"

namespace strata {

// Whether LaunchOneRow can run this product: one row, weights in groups of a type that has such
// kernels, no int8 form of hidden vectors to be written, values of those that down meets, and a
// row of each segment in shared memory at once.
bool RunsAsOneRow(BlockType type, int64_t columns, const ProductParameters& product);

// Of `product` what LaunchProduct is given.
absl::Status LaunchOneRow(absl::string_view name, BlockType type, int64_t columns,
                          const ProductParameters& product, const ProductPlan& plan,
                          const KernelStream& stream);

// Whether a product of `rows` rows, each with `num_vectors` of so many columns, takes them as
// values alone: down products of one row do, so that whoever makes them need not wait to see a
// whole block of a form.
bool TakesValues(BlockType type, int64_t columns, int rows, int num_vectors);

// Whether a dense product of `rows` rows, or gate and up that all rows share, makes its vector
// itself, as the norm of a state (DenseProduct::norm).
bool TakesNorm(BlockType type, int64_t columns, int rows);

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_ONE_ROW_LAUNCH_H_
