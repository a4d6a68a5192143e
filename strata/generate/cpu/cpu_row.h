// A row of a step as the CPU's operations see it.
#ifndef STRATA_GENERATE_CPU_CPU_ROW_H_
#define STRATA_GENERATE_CPU_CPU_ROW_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "strata/generate/cpu/kv_pool.h"
#include "strata/generate/cpu/recurrent_pool.h"
#include "strata/generate/cpu/recurrent_state.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {

struct CpuRow {
  TokenId token = 0;
  int64_t position = 0;
  // Of its sequence; the position is reserved, and a step has begun.
  const KvState* kv = nullptr;
  const RecurrentState* recurrent = nullptr;
  int snapshot = RecurrentPool::kNoBuffer;  // For the recurrent state after this row.
  bool wants_output = false;

  // How many rows of its sequence come before it in the step.
  int64_t index_in_sequence() const { return position - recurrent->position(); }
};

// No row of its sequence follows in the step.
inline bool IsLastOfSequence(absl::Span<const CpuRow> rows, size_t i) {
  return i + 1 == rows.size() || rows[i + 1].recurrent != rows[i].recurrent;
}

}  // namespace strata

#endif  // STRATA_GENERATE_CPU_CPU_ROW_H_
