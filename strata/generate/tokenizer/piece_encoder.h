// From text without special tokens to ids: the part of a tokenizer that differs between models.
#ifndef STRATA_GENERATE_TOKENIZER_PIECE_ENCODER_H_
#define STRATA_GENERATE_TOKENIZER_PIECE_ENCODER_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {

// Immutable; Thread-safe.
class PieceEncoder {
 public:
  virtual ~PieceEncoder() = default;

  // Appends the ids of `text`, valid UTF-8. `after_special`: nothing, or a special token, stands
  // right before it. An InputError of kind tokenizer_tokens when the vocabulary cannot spell it.
  virtual absl::Status Encode(absl::string_view text, bool after_special,
                              std::vector<TokenId>& ids) const = 0;
};

}  // namespace strata

#endif  // STRATA_GENERATE_TOKENIZER_PIECE_ENCODER_H_
