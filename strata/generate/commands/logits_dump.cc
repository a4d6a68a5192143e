#include "strata/generate/commands/logits_dump.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/core/atomic_file.h"
#include "strata/core/status_macros.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {
namespace {

static_assert(std::endian::native == std::endian::little);

template <typename T>
absl::Span<const std::byte> BytesOf(absl::Span<const T> values) {
  return {reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace

absl::Status WriteLogitsDump(absl::Span<const TokenId> ids, int64_t vocabulary,
                             absl::Span<const float> logits, AtomicFile& file) {
  CHECK_EQ(logits.size(), ids.size() * static_cast<size_t>(vocabulary));
  const std::array<int32_t, 2> head = {static_cast<int32_t>(ids.size()),
                                       static_cast<int32_t>(vocabulary)};
  RETURN_IF_ERROR(file.Append(BytesOf(absl::MakeConstSpan(head))));
  RETURN_IF_ERROR(file.Append(BytesOf(ids)));
  RETURN_IF_ERROR(file.Append(BytesOf(logits)));
  return file.Commit();
}

}  // namespace strata
