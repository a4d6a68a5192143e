// A batch of vectors in the forms in which weights want their activations. Each form is made once,
// when the first matrix asks for it.
//
// Thread-compatible; views may be read by many threads.
#ifndef STRATA_GENERATE_CPU_ACTIVATION_BATCH_H_
#define STRATA_GENERATE_CPU_ACTIVATION_BATCH_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/core/block_type.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/cpu/rows.h"
#include "strata/generate/kernels/activation.h"

namespace strata {

class ActivationBatch {
 public:
  explicit ActivationBatch(ThreadPool& pool) : pool_(pool) {}

  // Starts over with `rows`, which stay as they are until the next call.
  void Assign(const Rows& rows);

  const Rows& rows() const { return *rows_; }
  int64_t count() const { return rows_->count(); }

  // One view per row, for weights of this type, valid until the next Assign. Kind "nan_logits"
  // without a file when a value is NaN or infinite; `name` is that of the tensor, for the message.
  absl::StatusOr<absl::Span<const ActivationView>> ViewsFor(BlockType type, absl::string_view name);

  // Of all forms that it has made; the rows are somebody else's.
  int64_t bytes() const;

 private:
  struct Form {
    bool is_made = false;
    bool is_finite = true;
    std::vector<ActivationBuffer> buffers;
    std::vector<ActivationView> views;
  };

  void Make(ActivationForm form, Form& made);

  ThreadPool& pool_;
  const Rows* rows_ = nullptr;
  std::array<Form, 3> forms_;  // By ActivationForm.
};

}  // namespace strata

#endif  // STRATA_GENERATE_CPU_ACTIVATION_BATCH_H_
