// Steps and headers of runs that never were, for tests.
#ifndef STRATA_CACHE_TESTING_TEST_TRACE_H_
#define STRATA_CACHE_TESTING_TEST_TRACE_H_

#include <cstdint>

#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/experts/routed_step.h"
#include "strata/cache/trace/trace_records.h"

namespace strata {

// Of 2 layers of these experts, 2 used, with every field set.
TraceHeader TestTraceHeader(int num_experts = 4);

// A step of these tokens; which experts they choose depends on its number.
RoutedStep TestStep(const ExpertGeometry& geometry, int64_t number, int num_tokens);

}  // namespace strata

#endif  // STRATA_CACHE_TESTING_TEST_TRACE_H_
