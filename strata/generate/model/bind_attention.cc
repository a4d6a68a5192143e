#include "strata/generate/model/bind_attention.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "strata/core/gguf/model_config.h"
#include "strata/generate/model/model_family.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/rotary_options.h"
#include "strata/generate/model/tensor_binder.h"

namespace strata {
namespace {

// Far beyond any model; products of two such numbers do not overflow.
constexpr int64_t kMaxHeads = 1 << 16;
constexpr int64_t kMaxHeadSize = 1 << 16;

// False, and an error, when the heads are impossible.
bool CheckHeads(const AttentionConfig& config, int layer, TensorBinder& binder) {
  const int64_t heads = config.head_count.At(layer);
  const int64_t kv_heads = config.head_count_kv.At(layer);
  if (heads < 1 || kv_heads < 1 || heads > kMaxHeads || heads % kv_heads != 0) {
    binder.Refuse("hparams", absl::StrCat("layer ", layer, " has ", heads, " heads for ", kv_heads,
                                          " key and value heads"));
    return false;
  }
  if (config.key_length > kMaxHeadSize || config.value_length > kMaxHeadSize) {
    binder.Refuse("hparams", absl::StrCat("heads of ", config.key_length, " and ",
                                          config.value_length, " values"));
    return false;
  }
  return true;
}

// 0: all tokens are seen.
int64_t WindowOf(const AttentionConfig& config, const ModelFamily& family, int layer) {
  if (family.window_period == 0) return 0;
  const auto& pattern = config.sliding_window_pattern;
  if (pattern.size() > 1) return pattern[layer] != 0 ? config.sliding_window : 0;
  const int64_t period = pattern.size() == 1 ? pattern[0] : family.window_period;
  return period > 0 && layer % period < period - 1 ? config.sliding_window : 0;
}

// Three matrices, or one that holds the rows of all three.
void BindProjections(const std::string& block, int64_t width, Need bias, TensorBinder& binder,
                     SelfAttention& attention) {
  const int64_t query_rows =
      int64_t{attention.num_heads} * attention.key_size * (attention.has_gate ? 2 : 1);
  const int64_t key_rows = int64_t{attention.num_kv_heads} * attention.key_size;
  const int64_t value_rows = int64_t{attention.num_kv_heads} * attention.value_size;
  if (binder.Has(block + "attn_qkv.weight")) {
    const Linear all =
        binder.Matrix(block + "attn_qkv", width, query_rows + key_rows + value_rows, bias);
    attention.query = TensorBinder::Rows(all, 0, query_rows);
    attention.key = TensorBinder::Rows(all, query_rows, key_rows);
    attention.value = TensorBinder::Rows(all, query_rows + key_rows, value_rows);
    return;
  }
  attention.query = binder.Matrix(block + "attn_q", width, query_rows, bias);
  attention.key = binder.Matrix(block + "attn_k", width, key_rows, bias);
  attention.value = binder.Matrix(block + "attn_v", width, value_rows, bias);
}

YarnRamp RampOf(const ModelConfig& config) {
  const RopeConfig& rope = config.rope;
  return {.original_context = rope.original_context_length > 0 ? rope.original_context_length
                                                               : config.context_length,
          .beta_fast = rope.yarn_beta_fast,
          .beta_slow = rope.yarn_beta_slow};
}

}  // namespace

SelfAttention BindSelfAttention(const ModelConfig& config, const ModelFamily& family, int layer,
                                int rotation, TensorBinder& binder) {
  SelfAttention attention;
  if (!CheckHeads(config.attention, layer, binder)) return attention;
  const std::string block = absl::StrCat("blk.", layer, ".");
  const Need bias = family.needs_biases ? Need::kRequired : Need::kOptional;
  attention.num_heads = static_cast<int>(config.attention.head_count.At(layer));
  attention.num_kv_heads = static_cast<int>(config.attention.head_count_kv.At(layer));
  attention.key_size = static_cast<int>(config.attention.key_length);
  attention.value_size = static_cast<int>(config.attention.value_length);
  attention.scale = config.attention.scale != 0
                        ? static_cast<float>(config.attention.scale)
                        : 1.0f / std::sqrt(static_cast<float>(attention.key_size));
  attention.window = WindowOf(config.attention, family, layer);
  attention.rotation = rotation;
  attention.has_gate = family.gates_attention;
  if (attention.has_gate && attention.key_size != attention.value_size) {
    binder.Refuse("hparams", absl::StrCat("gates of ", attention.key_size, " values for heads of ",
                                          attention.value_size));
    return attention;
  }
  BindProjections(block, config.embedding_length, bias, binder, attention);
  attention.output =
      binder.Matrix(block + "attn_output", int64_t{attention.num_heads} * attention.value_size,
                    config.embedding_length, bias);

  attention.norm_scope = family.query_key_norm;
  const bool per_head = attention.norm_scope == NormScope::kHead;
  attention.query_norm = binder.Values(
      block + "attn_q_norm.weight", {per_head ? attention.key_size : attention.query.weights.rows},
      Need::kOptional);
  attention.key_norm =
      binder.Values(block + "attn_k_norm.weight",
                    {per_head ? attention.key_size : attention.key.weights.rows}, Need::kOptional);
  if (family.needs_sinks) {
    attention.sinks = binder.Values(block + "attn_sinks.weight", {attention.num_heads});
  }
  return attention;
}

std::optional<Rotation> BindRotation(const ModelConfig& config, const ModelFamily& family,
                                     TensorBinder& binder) {
  const RopeConfig& rope = config.rope;
  if (rope.kind == RopeKind::kNone || rope.dimension_count == 0) return std::nullopt;
  if (family.rotates_only_if_finetuned && !rope.finetuned.value_or(true)) return std::nullopt;
  if (rope.dimension_count > config.attention.key_length) {
    binder.Refuse("hparams", absl::StrCat("rope.dimension_count is ", rope.dimension_count,
                                          ", heads have ", config.attention.key_length, " values"));
    return std::nullopt;
  }
  Rotation rotation = {
      .pairing = rope.kind == RopeKind::kNeighbours ? RotaryPairing::kNorm : RotaryPairing::kNeox,
      .angles = {.num_dims = static_cast<int>(rope.dimension_count),
                 .base = rope.freq_base,
                 .magnitude = rope.attn_factor}};
  RotaryOptions& options = rotation.angles;
  options.frequency_factors =
      binder.Values("rope_freqs.weight", {rope.dimension_count / 2}, Need::kOptional);
  if (rope.scaling_type == "none" || rope.scaling_factor == 0) return rotation;
  if (rope.scaling_type != "linear" && rope.scaling_type != "yarn") {
    binder.Refuse("hparams", absl::StrCat("rope.scaling.type is ", rope.scaling_type,
                                          "; none, linear and yarn can be run"));
    return rotation;
  }
  options.frequency_scale = 1.0 / rope.scaling_factor;
  if (rope.scaling_type == "yarn") {
    options.yarn = RampOf(config);
    options.magnitude *= YarnMagnitude(rope.scaling_factor);
  }
  return rotation;
}

}  // namespace strata
