// The product kernels of all types, compiled in several files: each finds those of its own types.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PRODUCT_KERNELS_H_
#define STRATA_GENERATE_KERNELS_CUDA_PRODUCT_KERNELS_H_

#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/one_row_parameters.h"
#include "strata/generate/kernels/cuda/product_parameters.h"

namespace strata {

using ProductKernelPointer = void (*)(ProductParameters);
using OneRowKernelPointer = void (*)(OneRowParameters);

// Vectors that kernels for landing experts compute at once.
inline constexpr int kLandingVectors = 4;

// The kernel of a type that computes 1, 2 or 4 vectors at once, or kLandingVectors and stores what
// lands; null for types of other files. Types with groups compute no less than 2 so: their kernels
// for steps of one row are others.
ProductKernelPointer FindKernelOfK4K5(BlockType type, int vectors, bool lands);
ProductKernelPointer FindKernelOfK2K3K6(BlockType type, int vectors, bool lands);
ProductKernelPointer FindKernelOfCodes32(BlockType type, int vectors, bool lands);
ProductKernelPointer FindKernelOfValues(BlockType type, int vectors, bool lands);
ProductKernelPointer FindKernelOfGrids(BlockType type, int vectors, bool lands);
ProductKernelPointer FindKernelOfTernary(BlockType type, int vectors, bool lands);
ProductKernelPointer FindKernelOfNumbers(BlockType type, int vectors, bool lands);

// The kernel of a type for steps of one row; null for types of other files. `misses`: for layers of
// which experts may be missed and land or be computed by the host, kGated and kSum.
OneRowKernelPointer FindOneRowKernelOfK4K5(BlockType type, ProductMode mode, bool misses);
OneRowKernelPointer FindOneRowKernelOfK2K3K6(BlockType type, ProductMode mode, bool misses);
OneRowKernelPointer FindOneRowKernelOfCodes32(BlockType type, ProductMode mode, bool misses);
OneRowKernelPointer FindOneRowKernelOfValues(BlockType type, ProductMode mode, bool misses);
OneRowKernelPointer FindOneRowKernelOfGrids(BlockType type, ProductMode mode, bool misses);
OneRowKernelPointer FindOneRowKernelOfTernary(BlockType type, ProductMode mode, bool misses);

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PRODUCT_KERNELS_H_
