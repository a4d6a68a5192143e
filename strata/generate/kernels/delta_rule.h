// What a token reads from the memory of a gated delta net and writes to it.
//
// Columns do not know of each other. With query q, key k, value v of the column, and S_i the value
// in row i before the token:
//
//     m = sum of k_i S_i;  n = sum of q_i S_i
//     d = beta * fma(-decay, m, v)
//     o = fma(d, q . k, decay * n)            what the token reads
//     S_i = fma(k_i, d, decay * S_i)          after it
//
// A sum is four chains of fma from +0, over i = 0, 4, 8, ..., i = 1, 5, 9, ... and so on, added as
// (first + third) + (second + fourth). Tokens come one after the other, so no bit depends on how a
// text is cut into steps.
#ifndef STRATA_GENERATE_KERNELS_DELTA_RULE_H_
#define STRATA_GENERATE_KERNELS_DELTA_RULE_H_

#include "strata/generate/kernels/delta_memory.h"

namespace strata {

// On a block of columns: `before` becomes `after`, which may be the same memory; `out` is what each
// column gives.
void ApplyDeltaRule(const DeltaToken& token, const float* before, float* after, float* out);

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_DELTA_RULE_H_
