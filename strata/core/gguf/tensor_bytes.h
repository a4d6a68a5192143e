// How much of a model's files tensors of a kind take.
#ifndef STRATA_CORE_GGUF_TENSOR_BYTES_H_
#define STRATA_CORE_GGUF_TENSOR_BYTES_H_

#include <cstdint>

#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/tensor_place.h"

namespace strata {

// Of all tensors of this kind together.
int64_t BytesOfKind(const GgufFile& file, TensorKind kind);

}  // namespace strata

#endif  // STRATA_CORE_GGUF_TENSOR_BYTES_H_
