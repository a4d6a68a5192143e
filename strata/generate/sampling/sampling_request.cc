#include "strata/generate/sampling/sampling_request.h"

#include <random>

namespace strata {

SamplerOptions ResolveSampling(const SamplingRequest& request, const SamplerOptions& defaults) {
  return {.temperature = request.temperature.value_or(defaults.temperature),
          .top_k = request.top_k.value_or(defaults.top_k),
          .top_p = request.top_p.value_or(defaults.top_p),
          .min_p = request.min_p.value_or(defaults.min_p),
          .repetition_penalty = request.repetition_penalty.value_or(defaults.repetition_penalty),
          .repetition_window = request.repetition_window.value_or(defaults.repetition_window),
          .seed = request.seed.has_value() ? *request.seed : std::random_device()()};
}

}  // namespace strata
