#include "strata/generate/model/model_family.h"

#include <string>

#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace strata {
namespace {

constexpr ModelFamily kFamilies[] = {
    // Without latent attention: a file that has it is refused by name.
    {.architecture = "deepseek2"},
    {.architecture = "glm4moe",
     .feed_forward_norm = "post_attention_norm",
     .needs_selection_bias = true},
    {.architecture = "gpt-oss",
     .feed_forward_norm = "post_attention_norm",
     .needs_sinks = true,
     .needs_biases = true,
     .window_period = 2},
    {.architecture = "granitemoe", .rotates_only_if_finetuned = true},
    {.architecture = "lfm2moe", .output_norm = "token_embd_norm", .needs_selection_bias = true},
    {.architecture = "llama"},
    {.architecture = "olmoe", .query_key_norm = NormScope::kAllHeads, .needs_output = true},
    {.architecture = "qwen3"},
    {.architecture = "qwen35moe",
     .feed_forward_norm = "post_attention_norm",
     .gates_attention = true,
     .tiles_value_heads = true},
    {.architecture = "qwen3moe"},
    {.architecture = "qwen3next",
     .feed_forward_norm = "post_attention_norm",
     .gates_attention = true},
};

}  // namespace

const ModelFamily* FindModelFamily(absl::string_view architecture) {
  for (const ModelFamily& family : kFamilies) {
    if (family.architecture == architecture) return &family;
  }
  return nullptr;
}

std::string ModelFamilyNames() {
  return absl::StrJoin(kFamilies, ", ", [](std::string* out, const ModelFamily& family) {
    out->append(family.architecture.data(), family.architecture.size());
  });
}

}  // namespace strata
