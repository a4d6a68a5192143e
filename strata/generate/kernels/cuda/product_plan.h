// How a product kernel cuts its work. No choice here changes a bit of a result.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PRODUCT_PLAN_H_
#define STRATA_GENERATE_KERNELS_CUDA_PRODUCT_PLAN_H_

namespace strata {

// 0 is the kernel's own choice, by shape.
struct ProductPlan {
  int tile_rows = 0;  // Rows of each matrix that a block has in shared memory at once: 4 to 32.
  int threads = 0;    // Of a block: a multiple of 32 from 64 to 256.
  int blocks = 0;     // Of the grid, at most.
  // Vectors that meet a weight while it is in registers: 2 or 4, of F32, F16 and BF16 also 1. If it
  // is given, a step of one row too is computed by the kernels for all numbers of rows.
  int vectors = 0;
  bool early_weights = true;  // Weights are asked for before the wait, where that is allowed.
};

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PRODUCT_PLAN_H_
