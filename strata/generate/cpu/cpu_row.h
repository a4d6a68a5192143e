// A row of a step as the CPU's operations see it.
#ifndef STRATA_GENERATE_CPU_CPU_ROW_H_
#define STRATA_GENERATE_CPU_CPU_ROW_H_

#include <cstdint>

#include "strata/generate/cpu/kv_pool.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {

struct CpuRow {
  TokenId token = 0;
  int64_t position = 0;
  const KvState* kv = nullptr;  // Of its sequence; the position is reserved.
  bool wants_output = false;
};

}  // namespace strata

#endif  // STRATA_GENERATE_CPU_CPU_ROW_H_
