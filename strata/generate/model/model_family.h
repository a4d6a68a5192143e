// The model families that can be run, and what about each cannot be read from its file.
//
// Most of a family's shape is in its metadata (ModelConfig) and in which tensors are there; this
// table holds the rest. To add a family whose parts exist is to add a row and a test against
// answers of another implementation.
#ifndef STRATA_GENERATE_MODEL_MODEL_FAMILY_H_
#define STRATA_GENERATE_MODEL_MODEL_FAMILY_H_

#include <string>

#include "absl/strings/string_view.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

struct ModelFamily {
  absl::string_view architecture;                    // The value of general.architecture.
  absl::string_view feed_forward_norm = "ffn_norm";  // Tensor of the norm before the feed-forward.
  absl::string_view output_norm = "output_norm";     // Tensor of the norm before the output.
  NormScope query_key_norm = NormScope::kHead;       // Where a file has these norms.
  bool needs_query_key_norm = false;                 // No file is without them.
  bool needs_output = false;                         // No file shares output with token_embd.
  bool needs_selection_bias = false;                 // Routers have exp_probs_b.
  bool needs_sinks = false;                          // Attention has attn_sinks.
  bool needs_query_biases = false;                   // Queries, keys and values have biases.
  bool needs_biases = false;                         // Attention, router and experts have biases.
  bool needs_shared_expert = false;                  // Beside routed experts, where keys say so.
  bool needs_shared_gate = false;                    // A shared expert, and ffn_gate_inp_shexp.
  bool needs_expert_scales = false;                  // Each expert's down has one.
  bool rotates_only_if_finetuned = false;            // rope.scaling.finetuned = false: no rotation.
  // Layers that see all tokens do not rotate, only those with a window do.
  bool rotates_windows_only = false;
  // YaRN is left out in layers with a window.
  bool stretches_full_layers_only = false;
  // A head has as many values as rotate, whatever the embedding's length.
  bool whole_head_rotates = false;
  // YaRN makes attention's scores larger and not the rotated heads; its multiplier was stored times
  // 0.1.
  bool yarn_scales_scores = false;
  // Of so many neighbouring layers the last sees all tokens and the others a sliding window; 0: all
  // layers see all. A period in the file goes first.
  int window_period = 0;
  bool needs_window = false;     // No file is without attention.sliding_window.
  bool gates_attention = false;  // attn_q has each head's gate behind its query.
  // Of attention, where no key says it; 0: 1 / sqrt(head size).
  float attention_scale = 0.0f;
  bool norms_values = false;  // Of each head, without weights.
  // Layers that see all tokens may lack attn_v: their values are their keys.
  bool values_may_be_keys = false;
  // What a part gives is normed before it joins the state (post_attention_norm, post_ffw_norm), and
  // the state is scaled after each layer (layer_output_scale).
  bool norms_and_scales_results = false;
  // A layer with experts has a feed-forward for all tokens as well (ffn_gate and so on); it, the
  // experts and the router have norms of their own.
  bool has_dense_beside_experts = false;
  bool scales_embedding = false;            // By the square root of its length.
  bool gates_delta_net_by_sigmoid = false;  // Instead of silu.
  // Value head h of a delta net uses key head h % their number, instead of neighbours sharing one.
  bool tiles_value_heads = false;
};

// Null when this family cannot be run.
const ModelFamily* FindModelFamily(absl::string_view architecture);

// "glm4moe, gpt-oss, ..." for messages.
std::string ModelFamilyNames();

}  // namespace strata

#endif  // STRATA_GENERATE_MODEL_MODEL_FAMILY_H_
