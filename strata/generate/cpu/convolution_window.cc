#include "strata/generate/cpu/convolution_window.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "strata/generate/cpu/cpu_row.h"
#include "strata/generate/cpu/recurrent_pool.h"
#include "strata/generate/kernels/causal_convolution.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

const float* ConvolutionWindow::Input(size_t i, int64_t rows_before) const {
  const int64_t index = rows_[i].index_in_sequence() - rows_before;
  if (index >= 0) return inputs_.row(static_cast<int64_t>(i) - rows_before).data();
  const float* const state = rows_[i].recurrent->Before(layer_);
  if (state == nullptr) return nullptr;
  return state + (convolution_.num_before() + index) * convolution_.num_channels;
}

void ConvolutionWindow::Convolve(size_t i, absl::Span<float> out) const {
  std::array<const float*, CausalConvolution::kMaxTaps> inputs;
  const int num_taps = convolution_.num_taps;
  for (int tap = 0; tap < num_taps; ++tap) {
    inputs[tap] = Input(i, int64_t{num_taps - 1 - tap} * convolution_.dilation);
  }
  strata::Convolve(convolution_.weights, absl::MakeConstSpan(inputs.data(), num_taps), out);
}

void ConvolutionWindow::Store(size_t i) const {
  const CpuRow& row = rows_[i];
  if (IsLastOfSequence(rows_, i)) StoreTo(i, row.recurrent->After(layer_));
  if (row.snapshot != RecurrentPool::kNoBuffer) {
    StoreTo(i, row.recurrent->Snapshot(row.snapshot, layer_));
  }
}

void ConvolutionWindow::StoreTo(size_t i, float* state) const {
  for (int rows_before = convolution_.num_before() - 1; rows_before >= 0; --rows_before) {
    const float* const input = Input(i, rows_before);
    if (input == nullptr) {
      std::fill_n(state, convolution_.num_channels, 0.0f);
    } else {
      std::copy_n(input, convolution_.num_channels, state);
    }
    state += convolution_.num_channels;
  }
}

}  // namespace strata
