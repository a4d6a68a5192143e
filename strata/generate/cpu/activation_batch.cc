#include "strata/generate/cpu/activation_batch.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/core/block_type.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/cpu/rows.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/not_finite.h"
#include "strata/generate/kernels/row_dot.h"

namespace strata {

void ActivationBatch::Assign(const Rows& rows) {
  rows_ = &rows;
  for (Form& form : forms_) form.is_made = false;
}

absl::StatusOr<absl::Span<const ActivationView>> ActivationBatch::ViewsFor(BlockType type,
                                                                           absl::string_view name) {
  const std::optional<ActivationForm> form = ActivationFormOf(type);
  CHECK(form.has_value()) << InfoOf(type).name;
  Form& made = forms_[static_cast<size_t>(*form)];
  if (!made.is_made) Make(*form, made);
  if (!made.is_finite) return NotFiniteError(absl::StrCat("the input of ", name));
  return absl::MakeConstSpan(made.views).subspan(0, rows_->count());
}

void ActivationBatch::Make(ActivationForm form, Form& made) {
  const size_t count = static_cast<size_t>(rows_->count());
  made.buffers.resize(std::max(made.buffers.size(), count));
  made.views.resize(made.buffers.size());
  std::atomic<bool> is_finite = true;
  pool_.ParallelFor(rows_->count(), /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    for (int64_t i = piece.begin; i < piece.end; ++i) {
      if (!made.buffers[i].Assign(form, rows_->row(i))) is_finite = false;
      made.views[i] = made.buffers[i].view();
    }
  });
  made.is_made = true;
  made.is_finite = is_finite;
}

int64_t ActivationBatch::bytes() const {
  int64_t sum = 0;
  for (const Form& form : forms_) {
    for (const ActivationBuffer& buffer : form.buffers) sum += buffer.bytes();
  }
  return sum;
}

}  // namespace strata
