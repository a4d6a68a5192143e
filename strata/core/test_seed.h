// Seed and length of a randomized test: printed by each run, set by the environment variables
// STRATA_TEST_SEED and STRATA_TEST_STEPS to repeat one or to run longer.
#ifndef STRATA_CORE_TEST_SEED_H_
#define STRATA_CORE_TEST_SEED_H_

#include <cstdint>
#include <cstdlib>
#include <iostream>

namespace strata {

inline int64_t TestNumber(const char* variable, int64_t otherwise) {
  const char* const text = std::getenv(variable);
  const int64_t number = text == nullptr ? otherwise : std::atoll(text);
  std::cout << variable << "=" << number << std::endl;
  return number;
}

inline uint64_t TestSeed() { return TestNumber("STRATA_TEST_SEED", 20260413); }
inline int64_t TestSteps(int64_t otherwise) { return TestNumber("STRATA_TEST_STEPS", otherwise); }

}  // namespace strata

#endif  // STRATA_CORE_TEST_SEED_H_
