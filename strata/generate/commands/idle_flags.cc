#include "strata/generate/commands/idle_flags.h"

#include <algorithm>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gflags/gflags.h"
#include "strata/core/note.h"
#include "strata/generate/loading/text_model.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/placement/expert_placement.h"
#include "strata/generate/sampling/sampler.h"

namespace strata {
namespace {

// A flag that does something only where `needs` is true. Of several for one flag the first that is
// not is said.
struct Need {
  absl::string_view flag;
  bool RunFacts::*needs;
  absl::string_view why_not;
};

constexpr absl::string_view kAlwaysLikeliest =
    "the most likely token is always taken (--temperature 0)";
constexpr absl::string_view kNoExperts = "the model has no experts";
constexpr absl::string_view kNoSlots = "no expert has a slot (--expert_cache)";
constexpr absl::string_view kNoStages =
    "nothing is pinned: the CPU reads experts where they lie (--expert_source)";
constexpr absl::string_view kNoTokenizer = "the model has no tokenizer";
constexpr absl::string_view kOnCpu = "the CPU computes";

constexpr Need kNeeds[] = {
    {"top_k", &RunFacts::draws, kAlwaysLikeliest},
    {"top_p", &RunFacts::draws, kAlwaysLikeliest},
    {"min_p", &RunFacts::draws, kAlwaysLikeliest},
    {"seed", &RunFacts::draws, kAlwaysLikeliest},
    {"repetition_window", &RunFacts::penalizes, "--repetition_penalty is 1"},
    {"parse_special", &RunFacts::has_text, "the prompt is ids"},
    {"stop", &RunFacts::has_tokenizer, kNoTokenizer},
    {"ignore_eos", &RunFacts::has_tokenizer, kNoTokenizer},
    {"vram_limit", &RunFacts::on_gpu, kOnCpu},
    {"snapshot_memory", &RunFacts::has_recurrent_state,
     "the model's memory of a text can be cut back, so there are no snapshots"},
    {"expert_cache", &RunFacts::has_experts, kNoExperts},
    {"expert_source", &RunFacts::has_experts, kNoExperts},
    {"mmap_experts", &RunFacts::has_experts, kNoExperts},
    {"host_experts", &RunFacts::has_experts, kNoExperts},
    {"host_experts", &RunFacts::has_arena, "there is no arena of experts (--expert_source)"},
    {"pin_budget", &RunFacts::has_experts, kNoExperts},
    {"pin_budget", &RunFacts::uses_stages, kNoStages},
    {"stage_memory", &RunFacts::has_experts, kNoExperts},
    {"stage_memory", &RunFacts::uses_stages, kNoStages},
    {"expert_profile", &RunFacts::has_slots, kNoSlots},
    {"miss", &RunFacts::on_gpu, kOnCpu},
    {"miss", &RunFacts::has_experts, kNoExperts},
    {"landing", &RunFacts::on_gpu, kOnCpu},
    {"landing", &RunFacts::has_slots, kNoSlots},
    {"landing_rule", &RunFacts::on_gpu, kOnCpu},
    {"landing_rule", &RunFacts::has_slots, kNoSlots},
    {"prefill", &RunFacts::has_slots, kNoSlots},
    {"verify", &RunFacts::has_slots, kNoSlots},
    {"lend", &RunFacts::has_slots, kNoSlots},
    {"adapt_every", &RunFacts::has_slots, kNoSlots},
    {"adapt_swaps", &RunFacts::has_slots, kNoSlots},
    {"adapt_decay", &RunFacts::has_slots, kNoSlots},
    {"adapt_bytes", &RunFacts::has_slots, kNoSlots},
};

bool HasRecurrentState(const ModelGraph& graph) {
  return std::any_of(graph.layers.begin(), graph.layers.end(), [](const Layer& layer) {
    return std::holds_alternative<GatedDeltaNet>(layer.mixer) ||
           std::holds_alternative<ShortConvolution>(layer.mixer);
  });
}

bool IsOnCommandLine(absl::string_view flag) {
  gflags::CommandLineFlagInfo info;
  return gflags::GetCommandLineFlagInfo(std::string(flag).c_str(), &info) && !info.is_default;
}

}  // namespace

RunFacts RunFactsOf(TextModel& model, const SamplerOptions& sampling, bool has_text) {
  RunFacts facts = {.on_gpu = model.cuda() != nullptr,
                    .has_recurrent_state = HasRecurrentState(model.graph()),
                    .draws = sampling.temperature > 0,
                    .penalizes = sampling.repetition_penalty != 1,
                    .has_text = has_text,
                    .has_tokenizer = model.tokenizer() != nullptr};
  if (model.experts() != nullptr) {
    facts.has_experts = true;
    facts.has_slots = model.experts()->slots().num_slots() > 0;
    facts.has_arena = model.experts()->has_arena();
    facts.uses_stages = facts.has_slots || model.experts()->host().stages_unpinned();
  }
  return facts;
}

std::vector<std::string> IdleFlags(const RunFacts& facts,
                                   const std::function<bool(absl::string_view)>& is_given) {
  std::vector<std::string> sentences;
  absl::string_view said;
  for (const Need& need : kNeeds) {
    if (facts.*need.needs || need.flag == said || !is_given(need.flag)) continue;
    sentences.push_back(absl::StrCat("--", need.flag, " has no effect: ", need.why_not));
    said = need.flag;
  }
  return sentences;
}

void NoteIdleFlags(const RunFacts& facts) {
  for (const std::string& sentence : IdleFlags(facts, IsOnCommandLine)) Note(sentence);
}

}  // namespace strata
