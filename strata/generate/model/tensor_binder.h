// Takes tensors of a GGUF file by name, each checked against the shape that the model needs.
//
// The first thing that is wrong is kept as status() and everything after it gives empty results, so
// that a model can be bound in a row of plain calls with one check behind. Kinds: tensor_missing,
// tensor_shape, unsupported_type. Matrices are bound where they lie; vectors are copied as f32.
//
// Shapes are in the file's order: {columns, rows}.
#ifndef STRATA_GENERATE_MODEL_TENSOR_BINDER_H_
#define STRATA_GENERATE_MODEL_TENSOR_BINDER_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_tensor.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/weight_matrix.h"

namespace strata {

enum class Need { kRequired, kOptional };

class TensorBinder {
 public:
  explicit TensorBinder(const GgufFile& file) : file_(file) {}

  const absl::Status& status() const { return status_; }
  // Keeps an error of this kind as status(), unless there is one.
  void Refuse(absl::string_view kind, absl::string_view message);

  bool Has(absl::string_view name) const { return file_.FindTensor(name) != nullptr; }
  // Is it one of those that were taken, by this binder or by one that was added to it?
  bool HasTaken(absl::string_view name) const { return taken_.contains(name); }
  void AddTaken(const TensorBinder& other) {
    taken_.insert(other.taken_.begin(), other.taken_.end());
  }

  // `stem` + ".weight", with ".bias" (`rows` values) and ".scale" (one) where the file has them.
  Linear Matrix(absl::string_view stem, int64_t columns, int64_t rows, Need bias = Need::kOptional);
  // Neighbouring rows of a matrix that holds several, biases included. Its type and data only.
  static Linear Rows(const Linear& whole, int64_t first_row, int64_t rows);
  // `stem` + ".weight" {columns, rows, heads}: a matrix for each head.
  HeadLinears HeadMatrices(absl::string_view stem, int64_t columns, int64_t rows, int64_t heads);
  // Of each head so many rows from `first_row` on, where the rows of all heads are in one matrix,
  // those of a head `rows_to_next` after those of the head before it.
  static HeadLinears HeadRows(const Linear& whole, int64_t first_row, int64_t rows,
                              int64_t rows_to_next);
  // A matrix whose rows are looked up and not multiplied: any type will do.
  WeightMatrix Table(absl::string_view name, int64_t columns, int64_t rows);
  // All values of a tensor of this shape; empty when it is optional and absent.
  std::vector<float> Values(absl::string_view name, std::initializer_list<int64_t> dims,
                            Need need = Need::kRequired);

  // Refuses types that products cannot be computed with.
  void CheckProductType(absl::string_view name, BlockType type);

 private:
  // Null and an error when the tensor is not of this shape, or absent and needed.
  const GgufTensor* Find(absl::string_view name, std::initializer_list<int64_t> dims, Need need);
  // The companion `stem` + ".scale", or 1.
  float Scale(absl::string_view stem);

  const GgufFile& file_;
  absl::Status status_;
  absl::flat_hash_set<std::string> taken_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_MODEL_TENSOR_BINDER_H_
