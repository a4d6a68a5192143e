// Random numbers by position: a draw is a function of the seed and of the position in the text for
// which a token is drawn, and of nothing else. So it is the same however steps are grouped, and
// whatever was drawn before.
//
// The mixing function is SplitMix64's (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
// Generators, 2014), applied to the seed and then to its sum with the position.
#ifndef STRATA_GENERATE_SAMPLING_COUNTER_RANDOM_H_
#define STRATA_GENERATE_SAMPLING_COUNTER_RANDOM_H_

#include <cstdint>

namespace strata {

// In [0, 1), a multiple of 2^-53.
double UniformAt(uint64_t seed, int64_t position);

}  // namespace strata

#endif  // STRATA_GENERATE_SAMPLING_COUNTER_RANDOM_H_
