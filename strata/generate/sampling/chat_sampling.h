// How answers in a conversation are drawn unless the command line says otherwise.
#ifndef STRATA_GENERATE_SAMPLING_CHAT_SAMPLING_H_
#define STRATA_GENERATE_SAMPLING_CHAT_SAMPLING_H_

#include "strata/core/gguf/gguf_file.h"
#include "strata/generate/sampling/sampler.h"

namespace strata {

// What the model's makers recommend in `general.sampling.*` (temp, top_k, top_p, min_p,
// penalty_repeat, penalty_last_n); of a file that has some of them the rest is off, and a
// temperature is 0.7. Of a file that has none: temperature 0.7, top_p 0.95, min_p 0.05. A value
// that is out of range is left out with a warning. The seed is 0.
SamplerOptions ChatSampling(const GgufFile& file);

}  // namespace strata

#endif  // STRATA_GENERATE_SAMPLING_CHAT_SAMPLING_H_
