// What a command line says of sampling; what it leaves open is a default's.
#ifndef STRATA_GENERATE_SAMPLING_SAMPLING_REQUEST_H_
#define STRATA_GENERATE_SAMPLING_SAMPLING_REQUEST_H_

#include <cstdint>
#include <optional>

#include "strata/generate/sampling/sampler.h"

namespace strata {

// Each member as in SamplerOptions.
struct SamplingRequest {
  std::optional<float> temperature;
  std::optional<int> top_k;
  std::optional<float> top_p;
  std::optional<float> min_p;
  std::optional<float> repetition_penalty;
  std::optional<int> repetition_window;
  std::optional<uint64_t> seed;
};

// `defaults` with what was asked for. A seed that was not asked for is random, of 32 bits so that
// every reader of JSON keeps it.
SamplerOptions ResolveSampling(const SamplingRequest& request, const SamplerOptions& defaults);

}  // namespace strata

#endif  // STRATA_GENERATE_SAMPLING_SAMPLING_REQUEST_H_
