#include "strata/generate/chat/jinja/budget.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace strata::jinja {

bool Budget::Step() {
  if (++steps_ > limits_.max_steps) {
    Fail(absl::ResourceExhaustedError(
        absl::StrCat("the template takes more than ", limits_.max_steps, " steps")));
  }
  return ok();
}

void Budget::HandleBytes(int64_t num_bytes) {
  steps_ += num_bytes / 32;
  if (steps_ > limits_.max_steps) Step();
}

void Budget::Take(int64_t num_bytes) {
  used_bytes_ += num_bytes;
  HandleBytes(num_bytes);
  HasRoomFor(0);
}

bool Budget::HasRoomFor(int64_t num_bytes) {
  if (num_bytes > limits_.max_bytes - used_bytes_) {
    Fail(absl::ResourceExhaustedError(
        absl::StrCat("the template's values take more than ", limits_.max_bytes, " bytes")));
  }
  return ok();
}

bool Budget::Enter() {
  if (++depth_ > limits_.max_depth) {
    Fail(absl::ResourceExhaustedError(
        absl::StrCat("the template is nested more than ", limits_.max_depth, " deep")));
  }
  return ok();
}

void Budget::Fail(absl::Status status) {
  if (status_.ok()) status_ = std::move(status);
}

}  // namespace strata::jinja
