// The product kernels of all types, compiled in several files: each finds those of its own types.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PRODUCT_KERNELS_H_
#define STRATA_GENERATE_KERNELS_CUDA_PRODUCT_KERNELS_H_

#include "strata/core/block_type.h"
#include "strata/generate/kernels/cuda/one_row_parameters.h"
#include "strata/generate/kernels/cuda/product_parameters.h"

namespace strata {

using ProductKernelPointer = void (*)(ProductParameters);
using OneRowKernelPointer = void (*)(OneRowParameters);

// The kernel of a type that computes 1, 2 or 4 vectors at once; null for types of other files. Types
// with groups compute no less than 2 so: their kernels for steps of one row are others.
ProductKernelPointer FindKernelOfK4K5(BlockType type, int vectors);
ProductKernelPointer FindKernelOfK2K3K6(BlockType type, int vectors);
ProductKernelPointer FindKernelOfCodes32(BlockType type, int vectors);
ProductKernelPointer FindKernelOfValues(BlockType type, int vectors);
ProductKernelPointer FindKernelOfGrids(BlockType type, int vectors);
ProductKernelPointer FindKernelOfTernary(BlockType type, int vectors);
ProductKernelPointer FindKernelOfNumbers(BlockType type, int vectors);

// The kernel of a type for steps of one row; null for types of other files. `mailed`: that of kGated
// or kSum which leaves experts out that are computed elsewhere.
OneRowKernelPointer FindOneRowKernelOfK4K5(BlockType type, ProductMode mode, bool mailed);
OneRowKernelPointer FindOneRowKernelOfK2K3K6(BlockType type, ProductMode mode, bool mailed);
OneRowKernelPointer FindOneRowKernelOfCodes32(BlockType type, ProductMode mode, bool mailed);
OneRowKernelPointer FindOneRowKernelOfValues(BlockType type, ProductMode mode, bool mailed);
OneRowKernelPointer FindOneRowKernelOfGrids(BlockType type, ProductMode mode, bool mailed);
OneRowKernelPointer FindOneRowKernelOfTernary(BlockType type, ProductMode mode, bool mailed);

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PRODUCT_KERNELS_H_
