#include "strata/generate/cpu/short_convolution_block.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/core/status_macros.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/blocks/activation_form.h"
#include "strata/generate/cpu/activation_batch.h"
#include "strata/generate/cpu/convolution_window.h"
#include "strata/generate/cpu/cpu_row.h"
#include "strata/generate/cpu/rows.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/vector_math.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

int64_t RecurrentValuesOf(const ShortConvolution& part) {
  return ConvolutionWindow::StateValues(part.convolution);
}

int64_t ShortConvolutionBlock::WorkspaceBytes(const ShortConvolution& part, int64_t num_rows) {
  const int64_t width = part.convolution.num_channels;
  return Rows::BytesFor(num_rows, 3 * width) + 2 * Rows::BytesFor(num_rows, width) +
         num_rows * ActivationBuffer::BytesFor(*ActivationFormOf(part.output.weights.type), width);
}

absl::Status ShortConvolutionBlock::Run(const ShortConvolution& part, int layer,
                                        absl::Span<const CpuRow> rows, ActivationBatch& x,
                                        Rows& out) {
  job_.Clear();
  RETURN_IF_ERROR(job_.AddLinear(part.input, x, projected_));
  RETURN_IF_ERROR(job_.Run());
  const auto width = static_cast<size_t>(part.convolution.num_channels);
  inputs_.Resize(projected_.count(), part.convolution.num_channels);
  pool_.ParallelFor(inputs_.count(), /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    for (int64_t i = piece.begin; i < piece.end; ++i) {
      const absl::Span<const float> b_c_x = projected_.row(i);
      const absl::Span<const float> b = b_c_x.subspan(0, width);
      std::copy(b.begin(), b.end(), inputs_.row(i).begin());
      MultiplyInto(b_c_x.subspan(2 * width), inputs_.row(i));
    }
  });
  mixed_.Resize(projected_.count(), part.convolution.num_channels);
  const ConvolutionWindow window(part.convolution, layer, rows, inputs_);
  pool_.ParallelFor(mixed_.count(), /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    for (int64_t i = piece.begin; i < piece.end; ++i) {
      window.Convolve(static_cast<size_t>(i), mixed_.row(i));
      MultiplyInto(projected_.row(i).subspan(width, width), mixed_.row(i));
      window.Store(static_cast<size_t>(i));
    }
  });
  mixed_batch_.Assign(mixed_);
  job_.Clear();
  RETURN_IF_ERROR(job_.AddLinear(part.output, mixed_batch_, out));
  return job_.Run();
}

}  // namespace strata
