// For tests: a small model of random weights with delta nets.
#ifndef STRATA_GENERATE_TESTING_RANDOM_DELTA_NET_H_
#define STRATA_GENERATE_TESTING_RANDOM_DELTA_NET_H_

#include "strata/generate/testing/random_model.h"

namespace strata {

// `model` in the form of qwen35moe: in its even layers gated delta nets, 4 value heads of 48 values
// for 2 key heads, in its odd layers attention with gates, everywhere a shared expert. Its own edit
// comes last.
RandomModel RandomDeltaNet(RandomModel model = {});

}  // namespace strata

#endif  // STRATA_GENERATE_TESTING_RANDOM_DELTA_NET_H_
