// Decoders by the types they decode, so that a kernel written once serves all of them.
#ifndef STRATA_GENERATE_KERNELS_X86_TYPE_LIST_H_
#define STRATA_GENERATE_KERNELS_X86_TYPE_LIST_H_

#include "strata/core/block_type.h"

namespace strata::x86 {

// Decoders, each with a kType.
template <typename... Decoders>
struct TypeList {};

// &Kernel<Decoder>::Run of the decoder of `type`; null when it is not in the list.
template <typename Function, template <typename> class Kernel, typename... Decoders>
Function FindKernel(BlockType type, TypeList<Decoders...> /*list*/) {
  Function found = nullptr;
  ((found = type == Decoders::kType ? &Kernel<Decoders>::Run : found), ...);
  return found;
}

}  // namespace strata::x86

#endif  // STRATA_GENERATE_KERNELS_X86_TYPE_LIST_H_
