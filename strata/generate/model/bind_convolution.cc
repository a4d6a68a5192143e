#include "strata/generate/model/bind_convolution.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/tensor_binder.h"

namespace strata {

CausalConvolution BindConvolution(absl::string_view name, int64_t num_taps, int64_t num_channels,
                                  TensorBinder& binder) {
  CausalConvolution convolution;
  if (num_taps < 1 || num_taps > CausalConvolution::kMaxTaps) {
    binder.Refuse("hparams", absl::StrCat("a convolution of ", num_taps, " taps; 1 to ",
                                          CausalConvolution::kMaxTaps, " can be run"));
    return convolution;
  }
  convolution.num_taps = static_cast<int>(num_taps);
  convolution.num_channels = num_channels;
  // The file has the taps of a channel side by side.
  const std::vector<float> by_channel = binder.Values(name, {num_taps, num_channels});
  convolution.weights.resize(by_channel.size());
  for (size_t i = 0; i < by_channel.size(); ++i) {
    const size_t channel = i / num_taps;
    const size_t tap = i % num_taps;
    convolution.weights[tap * num_channels + channel] = by_channel[i];
  }
  return convolution;
}

}  // namespace strata
