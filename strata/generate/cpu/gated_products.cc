#include "strata/generate/cpu/gated_products.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/core/status_macros.h"
#include "strata/generate/cpu/product_job.h"
#include "strata/generate/cpu/rows.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/gated_activation.h"
#include "strata/generate/kernels/not_finite.h"
#include "strata/generate/kernels/row_dot.h"
#include "strata/generate/model/weight_matrix.h"

namespace strata {

void GatedProducts::Start(int64_t num_results, int64_t max_width) {
  parts_.clear();
  results_.clear();
  rows_left_.clear();
  gate_.Resize(num_results, max_width);
  up_.Resize(num_results, max_width);
  const auto count = static_cast<size_t>(num_results);
  if (buffers_.size() < count) buffers_.resize(count);
}

void GatedProducts::AddPart(const Part& part) {
  CHECK_EQ(part.gate.weights.rows, part.up.weights.rows);
  parts_.push_back({.part = part, .first_result = static_cast<int64_t>(results_.size())});
}

void GatedProducts::AddResult(int64_t result, const ActivationView& gate_x,
                              const ActivationView& up_x) {
  ++parts_.back().num_results;
  results_.push_back({.index = result, .gate_x = gate_x, .up_x = up_x});
}

void GatedProducts::Prepare(PartInWork& part) {
  const int64_t width = part.part.gate.weights.rows;
  part.first_block = static_cast<int64_t>(rows_left_.size());
  for (int64_t begin = 0; begin < width; begin += kBlockColumns) {
    rows_left_.push_back(2 * std::min(kBlockColumns, width - begin));
  }
  const auto results = absl::MakeConstSpan(results_).subspan(part.first_result, part.num_results);
  const auto row_width = static_cast<size_t>(width);
  job_.AddMatrix(part.part.gate);
  for (const Result& result : results) {
    const absl::Span<float> row = gate_.row(result.index).subspan(0, row_width);
    buffers_[result.index].Start(*ActivationFormOf(part.part.down_type), row);
    job_.AddVector(result.gate_x, row);
  }
  job_.AddMatrix(part.part.up);
  for (const Result& result : results) {
    job_.AddVector(result.up_x, up_.row(result.index).subspan(0, row_width));
  }
}

absl::Status GatedProducts::Run() {
  job_.Clear();
  for (PartInWork& part : parts_) Prepare(part);
  const int num_parts = static_cast<int>(parts_.size());
  first_not_finite_ = num_parts;
  // The matrices are gate and up of each part in turn.
  RETURN_IF_ERROR(
      job_.Run([&](int matrix, RowRange rows) { CountRows(parts_[matrix / 2], rows); }));
  const int failed = first_not_finite_;
  if (failed == num_parts) return absl::OkStatus();
  return NotFiniteError(absl::StrCat("the input of ", parts_[failed].part.down_name));
}

void GatedProducts::CountRows(const PartInWork& part, RowRange rows) {
  for (int64_t row = rows.begin; row < rows.end;) {
    const int64_t block = row / kBlockColumns;
    const int64_t end = std::min(rows.end, (block + 1) * kBlockColumns);
    const std::atomic_ref<int64_t> left(rows_left_[part.first_block + block]);
    // Acquires what other threads computed of the block, and releases this one's rows.
    if (left.fetch_sub(end - row) == end - row) FinishBlock(part, block * kBlockColumns);
    row = end;
  }
}

void GatedProducts::FinishBlock(const PartInWork& part, int64_t begin) {
  const int64_t end = std::min(begin + kBlockColumns, part.part.gate.weights.rows);
  const auto results = absl::MakeConstSpan(results_).subspan(part.first_result, part.num_results);
  for (const Result& result : results) {
    const auto count = static_cast<size_t>(end - begin);
    const absl::Span<float> gate = gate_.row(result.index).subspan(begin, count);
    ApplyGate(part.part.activation, gate, up_.row(result.index).subspan(begin, count), gate);
    if (buffers_[result.index].Convert(begin, end)) continue;
    const int index = static_cast<int>(&part - parts_.data());
    int first = first_not_finite_;
    while (index < first && !first_not_finite_.compare_exchange_weak(first, index)) {
    }
  }
}

int64_t GatedProducts::bytes() const {
  int64_t sum = gate_.bytes() + up_.bytes();
  for (const ActivationBuffer& buffer : buffers_) sum += buffer.bytes();
  return sum;
}

}  // namespace strata
