// Counts the allocations of a program: whoever links it gets an operator new that counts. For tests
// that show that something allocates nothing.
#ifndef STRATA_CORE_ALLOCATION_COUNTER_H_
#define STRATA_CORE_ALLOCATION_COUNTER_H_

#include <cstdint>

namespace strata {

// Since the program started; of all threads, and of the one that calls.
int64_t NumAllocations();
int64_t NumAllocationsOfThisThread();

}  // namespace strata

#endif  // STRATA_CORE_ALLOCATION_COUNTER_H_
