// Binds the causal convolution of a mixer.
#ifndef STRATA_GENERATE_MODEL_BIND_CONVOLUTION_H_
#define STRATA_GENERATE_MODEL_BIND_CONVOLUTION_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/tensor_binder.h"

namespace strata {

// From a tensor {num_taps, num_channels}. Errors are the binder's; kind hparams for a number of
// taps that cannot be.
CausalConvolution BindConvolution(absl::string_view name, int64_t num_taps, int64_t num_channels,
                                  TensorBinder& binder);

}  // namespace strata

#endif  // STRATA_GENERATE_MODEL_BIND_CONVOLUTION_H_
