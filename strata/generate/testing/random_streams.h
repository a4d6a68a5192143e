// For tests: a small model of random weights whose state is several streams.
#ifndef STRATA_GENERATE_TESTING_RANDOM_STREAMS_H_
#define STRATA_GENERATE_TESTING_RANDOM_STREAMS_H_

#include "strata/generate/testing/random_model.h"

namespace strata {

// `model` in the form of qwen4exp: RandomDeltaNet with 3 streams and mixers in place of norms; in
// its odd layers an index that keeps 4 blocks of 4 positions; before layer 0 a table of 416 rows,
// of which each token looks up 4. Its own edit comes last.
RandomModel RandomStreams(RandomModel model = {});

}  // namespace strata

#endif  // STRATA_GENERATE_TESTING_RANDOM_STREAMS_H_
