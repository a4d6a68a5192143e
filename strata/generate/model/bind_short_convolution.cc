#include "strata/generate/model/bind_short_convolution.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "strata/core/gguf/model_config.h"
#include "strata/generate/model/bind_convolution.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/tensor_binder.h"

namespace strata {

bool IsShortConvolution(const ModelConfig& config, int layer) {
  return config.recurrent.shortconv_l_cache > 0 && config.attention.head_count_kv.At(layer) == 0;
}

ShortConvolution BindShortConvolution(const ModelConfig& config, int layer, TensorBinder& binder) {
  const std::string stem = absl::StrCat("blk.", layer, ".shortconv.");
  const int64_t width = config.embedding_length;
  return {.input = binder.Matrix(stem + "in_proj", width, 3 * width),
          .output = binder.Matrix(stem + "out_proj", width, width),
          .convolution = BindConvolution(stem + "conv.weight", config.recurrent.shortconv_l_cache,
                                         width, binder)};
}

}  // namespace strata
