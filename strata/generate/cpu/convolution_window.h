// The inputs of a causal convolution for the rows of a step: those of the step itself, and before
// them what the sequence's state kept. A part of a state holds the last num_before() inputs, the
// oldest first; there are zeros where the text has not been so long.
//
// Thread-safe.
#ifndef STRATA_GENERATE_CPU_CONVOLUTION_WINDOW_H_
#define STRATA_GENERATE_CPU_CONVOLUTION_WINDOW_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "strata/generate/cpu/cpu_row.h"
#include "strata/generate/cpu/rows.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

class ConvolutionWindow {
 public:
  // Values of a part of a state.
  static int64_t StateValues(const CausalConvolution& convolution) {
    return convolution.num_before() * convolution.num_channels;
  }

  // Inputs are the first num_channels values of inputs.row(i) for rows[i]; the part of the state
  // lies at the beginning of the layer's. All is borrowed.
  ConvolutionWindow(const CausalConvolution& convolution, int layer, absl::Span<const CpuRow> rows,
                    const Rows& inputs)
      : convolution_(convolution), layer_(layer), rows_(rows), inputs_(inputs) {}

  // out = the convolution at row i, num_channels values.
  void Convolve(size_t i, absl::Span<float> out) const;
  // Keeps the inputs up to row i wherever the state after it is kept: in the state after the step
  // if the row is its sequence's last, and in the row's snapshot if it has one.
  void Store(size_t i) const;

 private:
  // The input so many rows before row i; null where the state is one of zeros.
  const float* Input(size_t i, int64_t rows_before) const;
  void StoreTo(size_t i, float* state) const;

  const CausalConvolution& convolution_;
  const int layer_;
  const absl::Span<const CpuRow> rows_;
  const Rows& inputs_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_CPU_CONVOLUTION_WINDOW_H_
