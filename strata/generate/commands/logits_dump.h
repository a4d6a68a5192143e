// A file of logits, to compare runs byte by byte and with other programs.
//
// Little-endian: i32 n, i32 vocabulary, n ids as i32, n rows of `vocabulary` f32; row i holds the
// logits after id i. The ids are the prompt and what was generated.
#ifndef STRATA_GENERATE_COMMANDS_LOGITS_DUMP_H_
#define STRATA_GENERATE_COMMANDS_LOGITS_DUMP_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/core/atomic_file.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {

// Writes and commits it. `logits` holds ids.size() * vocabulary values.
absl::Status WriteLogitsDump(absl::Span<const TokenId> ids, int64_t vocabulary,
                             absl::Span<const float> logits, AtomicFile& file);

}  // namespace strata

#endif  // STRATA_GENERATE_COMMANDS_LOGITS_DUMP_H_
