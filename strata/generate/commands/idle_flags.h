// Flags that were given and change nothing in this run: somebody expects something of them.
#ifndef STRATA_GENERATE_COMMANDS_IDLE_FLAGS_H_
#define STRATA_GENERATE_COMMANDS_IDLE_FLAGS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "strata/generate/loading/text_model.h"
#include "strata/generate/sampling/sampler.h"

namespace strata {

// What decides whether a flag has an effect.
struct RunFacts {
  bool on_gpu = false;
  bool has_experts = false;
  bool has_slots = false;
  bool has_arena = false;
  bool uses_stages = false;
  bool has_recurrent_state = false;
  bool draws = false;      // Not always the likeliest token.
  bool penalizes = false;  // Recent tokens.
  bool has_text = false;   // The prompt is text and not ids.
  bool has_tokenizer = false;
};

// Of a model that was started, and of how tokens are drawn. `has_text`: the prompt is no ids.
RunFacts RunFactsOf(TextModel& model, const SamplerOptions& sampling, bool has_text);

// A sentence for each: "--top_k has no effect: the most likely token is always taken". `is_given`
// knows the command line.
std::vector<std::string> IdleFlags(const RunFacts& facts,
                                   const std::function<bool(absl::string_view)>& is_given);

// Notes of those on the command line of the process.
void NoteIdleFlags(const RunFacts& facts);

}  // namespace strata

#endif  // STRATA_GENERATE_COMMANDS_IDLE_FLAGS_H_
