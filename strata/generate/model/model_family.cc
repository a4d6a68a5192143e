#include "strata/generate/model/model_family.h"

#include <string>

#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace strata {
namespace {

constexpr ModelFamily kFamilies[] = {
    {.architecture = "bailingmoe",
     .needs_output = true,
     .needs_shared_expert = true,
     .whole_head_rotates = true},
    {.architecture = "bailingmoe2",
     .needs_query_key_norm = true,
     .needs_output = true,
     .needs_shared_expert = true},
    {.architecture = "deepseek", .needs_output = true, .needs_shared_expert = true},
    {.architecture = "deepseek2", .needs_shared_expert = true, .yarn_scales_scores = true},
    {.architecture = "dots1",
     .needs_query_key_norm = true,
     .needs_output = true,
     .needs_shared_expert = true},
    {.architecture = "ernie4_5"},
    {.architecture = "ernie4_5-moe", .needs_shared_expert = true},
    {.architecture = "exaone-moe",
     .needs_query_key_norm = true,
     .needs_shared_expert = true,
     .rotates_windows_only = true,
     .window_period = 4,
     .needs_window = true},
    {.architecture = "gemma4",
     .needs_query_key_norm = true,
     .needs_expert_scales = true,
     .window_period = 6,
     .needs_window = true,
     .attention_scale = 1.0f,
     .norms_values = true,
     .values_may_be_keys = true,
     .norms_and_scales_results = true,
     .has_dense_beside_experts = true,
     .scales_embedding = true},
    {.architecture = "glm4moe",
     .feed_forward_norm = "post_attention_norm",
     .needs_selection_bias = true,
     .needs_shared_expert = true},
    {.architecture = "gpt-oss",
     .feed_forward_norm = "post_attention_norm",
     .needs_sinks = true,
     .needs_biases = true,
     .window_period = 2,
     .needs_window = true},
    {.architecture = "granitemoe", .needs_shared_expert = true, .rotates_only_if_finetuned = true},
    {.architecture = "hunyuan-moe",
     .query_key_norm = NormScope::kRotatedHead,
     .needs_query_key_norm = true,
     .needs_shared_expert = true},
    {.architecture = "hy_v3", .needs_query_key_norm = true, .needs_shared_expert = true},
    {.architecture = "lfm2moe",
     .output_norm = "token_embd_norm",
     .needs_query_key_norm = true,
     .needs_selection_bias = true},
    {.architecture = "llama"},
    {.architecture = "mellum",
     .needs_query_key_norm = true,
     .needs_output = true,
     .stretches_full_layers_only = true,
     .window_period = 4},
    {.architecture = "minimax-m2",
     .query_key_norm = NormScope::kAllHeads,
     .needs_query_key_norm = true,
     .needs_output = true,
     .needs_selection_bias = true},
    {.architecture = "olmoe",
     .query_key_norm = NormScope::kAllHeads,
     .needs_query_key_norm = true,
     .needs_output = true},
    {.architecture = "qwen2", .needs_query_biases = true},
    {.architecture = "qwen2moe",
     .needs_output = true,
     .needs_query_biases = true,
     .needs_shared_gate = true},
    {.architecture = "qwen3", .needs_query_key_norm = true},
    {.architecture = "qwen35moe",
     .feed_forward_norm = "post_attention_norm",
     .needs_query_key_norm = true,
     .needs_shared_gate = true,
     .gates_attention = true,
     .tiles_value_heads = true},
    {.architecture = "qwen3moe", .needs_query_key_norm = true},
    {.architecture = "qwen3next",
     .feed_forward_norm = "post_attention_norm",
     .needs_query_key_norm = true,
     .needs_shared_gate = true,
     .gates_attention = true},
    {.architecture = "qwen3vl", .needs_query_key_norm = true},
    {.architecture = "qwen3vlmoe", .needs_query_key_norm = true},
    {.architecture = "qwen4exp",
     .needs_query_key_norm = true,
     .needs_output = true,
     .needs_shared_gate = true,
     .gates_attention = true,
     .gates_delta_net_by_sigmoid = true,
     .tiles_value_heads = true},
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
