#include "strata/core/gguf/tensor_bytes.h"

#include <cstdint>

#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_tensor.h"
#include "strata/core/gguf/tensor_place.h"

namespace strata {

int64_t BytesOfKind(const GgufFile& file, TensorKind kind) {
  int64_t bytes = 0;
  for (const GgufTensor& tensor : file.tensors()) {
    if (ClassifyTensor(tensor.name).kind == kind) bytes += tensor.bytes;
  }
  return bytes;
}

}  // namespace strata
