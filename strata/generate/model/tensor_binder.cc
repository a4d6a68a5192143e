#include "strata/generate/model/tensor_binder.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/core/block_type.h"
#include "strata/core/error.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_tensor.h"
#include "strata/generate/blocks/activation_form.h"
#include "strata/generate/blocks/decode.h"
#include "strata/generate/model/model_graph.h"

namespace strata {
namespace {

bool HasShape(const GgufTensor& tensor, std::initializer_list<int64_t> dims) {
  std::array<int64_t, GgufTensor::kMaxDims> expected = {1, 1, 1, 1};
  std::copy(dims.begin(), dims.end(), expected.begin());
  return tensor.all_dims == expected;
}

}  // namespace

void TensorBinder::Refuse(absl::string_view kind, absl::string_view message) {
  if (status_.ok()) status_ = InputError(kind, file_.path(), message);
}

const GgufTensor* TensorBinder::Find(absl::string_view name, std::initializer_list<int64_t> dims,
                                     Need need) {
  const GgufTensor* const tensor = file_.FindTensor(name);
  if (tensor == nullptr) {
    if (need == Need::kRequired) {
      Refuse("tensor_missing",
             absl::StrCat("tensor ", name, " [", absl::StrJoin(dims, ", "), "] is not there"));
    }
    return nullptr;
  }
  taken_.insert(std::string(name));
  if (HasShape(*tensor, dims)) return tensor;
  Refuse("tensor_shape", absl::StrCat("tensor ", name, " is [", absl::StrJoin(tensor->dims(), ", "),
                                      "], expected [", absl::StrJoin(dims, ", "), "]"));
  return nullptr;
}

void TensorBinder::CheckProductType(absl::string_view name, BlockType type) {
  if (ActivationFormOf(type).has_value()) return;
  Refuse("unsupported_type", absl::StrCat("tensor ", name, " is ", InfoOf(type).name,
                                          ", which no product can be computed with"));
}

Linear TensorBinder::Matrix(absl::string_view stem, int64_t columns, int64_t rows, Need bias) {
  Linear linear = {.name = absl::StrCat(stem, ".weight")};
  linear.weights.rows = rows;
  linear.weights.columns = columns;
  if (const GgufTensor* tensor = Find(linear.name, {columns, rows}, Need::kRequired)) {
    CheckProductType(linear.name, tensor->type);
    linear.weights.type = tensor->type;
    linear.weights.data = file_.Data(*tensor).data();
  }
  linear.bias = Values(absl::StrCat(stem, ".bias"), {rows}, bias);
  linear.scale = Scale(stem);
  return linear;
}

Linear TensorBinder::Rows(const Linear& whole, int64_t first_row, int64_t rows) {
  Linear part = {.name = whole.name, .weights = whole.weights, .scale = whole.scale};
  part.weights.rows = rows;
  if (whole.weights.data != nullptr) part.weights.data = whole.weights.row(first_row);
  if (!whole.bias.empty()) {
    part.bias.assign(whole.bias.begin() + first_row, whole.bias.begin() + first_row + rows);
  }
  return part;
}

HeadLinears TensorBinder::HeadMatrices(absl::string_view stem, int64_t columns, int64_t rows,
                                       int64_t heads) {
  HeadLinears linears = {.name = absl::StrCat(stem, ".weight"), .rows_to_next = rows};
  linears.first.rows = rows;
  linears.first.columns = columns;
  if (const GgufTensor* tensor = Find(linears.name, {columns, rows, heads}, Need::kRequired)) {
    CheckProductType(linears.name, tensor->type);
    linears.first.type = tensor->type;
    linears.first.data = file_.Data(*tensor).data();
  }
  linears.scale = Scale(stem);
  return linears;
}

HeadLinears TensorBinder::HeadRows(const Linear& whole, int64_t first_row, int64_t rows,
                                   int64_t rows_to_next) {
  const Linear first = Rows(whole, first_row, rows);
  return {.name = first.name,
          .first = first.weights,
          .rows_to_next = rows_to_next,
          .scale = first.scale};
}

float TensorBinder::Scale(absl::string_view stem) {
  const std::vector<float> scale = Values(absl::StrCat(stem, ".scale"), {1}, Need::kOptional);
  return scale.empty() ? 1.0f : scale[0];
}

WeightMatrix TensorBinder::Table(absl::string_view name, int64_t columns, int64_t rows) {
  WeightMatrix matrix = {.rows = rows, .columns = columns};
  if (const GgufTensor* tensor = Find(name, {columns, rows}, Need::kRequired)) {
    matrix.type = tensor->type;
    matrix.data = file_.Data(*tensor).data();
  }
  return matrix;
}

std::vector<float> TensorBinder::Values(absl::string_view name, std::initializer_list<int64_t> dims,
                                        Need need) {
  const GgufTensor* const tensor = Find(name, dims, need);
  if (tensor == nullptr || !status_.ok()) return {};
  std::vector<float> values(tensor->num_elements());
  DecodeRow(tensor->type, file_.Data(*tensor).data(), absl::MakeSpan(values));
  return values;
}

}  // namespace strata
