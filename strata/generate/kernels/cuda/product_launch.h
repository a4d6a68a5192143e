// From a product's shape to a launch: picks the kernel, cuts the work, lays out shared memory.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PRODUCT_LAUNCH_H_
#define STRATA_GENERATE_KERNELS_CUDA_PRODUCT_LAUNCH_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/product_parameters.h"
#include "strata/generate/kernels/cuda/product_plan.h"

namespace strata {

// Launches `parameters`, which say what is to be computed: the mode, rows, inputs and targets. The
// rest of it, from `columns` to `shared`, is filled in here, for matrices of this type and so many
// columns; so are the first tiles of outputs. `name` is for messages.
//
// kUnimplemented when the type is no weights, or the shape is none for it; kResourceExhausted when
// not even one row of each matrix fits in shared memory with one vector of activations.
absl::Status LaunchProduct(absl::string_view name, BlockType type, int64_t columns,
                           ProductParameters parameters, const ProductPlan& plan,
                           const KernelStream& stream);

// Rows of a step that one launch can hold in shared memory; the others take another launch.
int RowsAtOnce(BlockType type, int64_t columns, int rows);

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PRODUCT_LAUNCH_H_
