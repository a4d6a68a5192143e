#include "strata/generate/model/bind_attention.h"

#include <cmath>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "strata/core/gguf/model_config.h"
#include "strata/generate/model/bind_block_indexer.h"
#include "strata/generate/model/model_family.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/tensor_binder.h"

namespace strata {
namespace {

// Far beyond any model; products of two such numbers do not overflow.
constexpr int64_t kMaxHeads = 1 << 16;
constexpr int64_t kMaxHeadSize = 1 << 16;

// False, and an error, when the heads are impossible.
bool CheckHeads(const AttentionConfig& config, int layer, const HeadSizes& sizes,
                TensorBinder& binder) {
  const int64_t heads = config.head_count.At(layer);
  const int64_t kv_heads = config.head_count_kv.At(layer);
  if (heads < 1 || kv_heads < 1 || heads > kMaxHeads || heads % kv_heads != 0) {
    binder.Refuse("hparams", absl::StrCat("layer ", layer, " has ", heads, " heads for ", kv_heads,
                                          " key and value heads"));
    return false;
  }
  if (sizes.key < 1 || sizes.value < 1 || sizes.key > kMaxHeadSize || sizes.value > kMaxHeadSize) {
    binder.Refuse("hparams", absl::StrCat("heads of ", sizes.key, " and ", sizes.value, " values"));
    return false;
  }
  return true;
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
  if (attention.values_are_keys) return;
  attention.value = binder.Matrix(block + "attn_v", width, value_rows, bias);
}

// Do layers that see all tokens use their keys as values? A file in which some have values and
// others lost theirs is broken. Walks the layers that the file has, whatever their number is said
// to be.
bool AreValuesKeys(const ModelConfig& config, const ModelFamily& family,
                   const TensorBinder& binder) {
  if (!family.values_may_be_keys) return false;
  for (int layer = 0; binder.Has(absl::StrCat("blk.", layer, ".attn_k.weight")); ++layer) {
    if (HasWindow(config.attention, family, layer)) continue;
    if (binder.Has(absl::StrCat("blk.", layer, ".attn_v.weight"))) return false;
  }
  return true;
}

// Norms of queries and keys, where the family or the file has them. A file of such a family that has
// none in any block is another model, which a remark names (bind_model.cc); one that has some and
// lost others is broken.
void BindNorms(const std::string& block, const ModelConfig& config, const ModelFamily& family,
               TensorBinder& binder, SelfAttention& attention) {
  attention.norm_scope = family.query_key_norm;
  const bool of_all = attention.norm_scope == NormScope::kAllHeads;
  const bool needs = family.needs_query_key_norm && HasQueryKeyNorms(config, binder);
  const Need need = needs ? Need::kRequired : Need::kOptional;
  attention.query_norm =
      binder.Values(block + "attn_q_norm.weight",
                    {of_all ? attention.query.weights.rows : attention.key_size}, need);
  attention.key_norm =
      binder.Values(block + "attn_k_norm.weight",
                    {of_all ? attention.key.weights.rows : attention.key_size}, need);
}

}  // namespace

bool HasQueryKeyNorms(const ModelConfig& config, const TensorBinder& binder) {
  for (int64_t layer = 0; layer < config.block_count; ++layer) {
    for (const char* name : {"attn_q_norm.weight", "attn_k_norm.weight"}) {
      if (binder.Has(absl::StrCat("blk.", layer, ".", name))) return true;
    }
  }
  return false;
}

bool HasWindow(const AttentionConfig& config, const ModelFamily& family, int layer) {
  if (family.window_period == 0 || config.sliding_window == 0) return false;
  const auto& pattern = config.sliding_window_pattern;
  if (pattern.size() > 1) {
    return layer < static_cast<int64_t>(pattern.size()) && pattern[layer] != 0;
  }
  const int64_t period = pattern.size() == 1 ? pattern[0] : family.window_period;
  return period > 0 && layer % period < period - 1;
}

HeadSizes HeadSizesOf(const ModelConfig& config, const ModelFamily& family, bool has_window) {
  const AttentionConfig& attention = config.attention;
  if (family.whole_head_rotates) return {config.rope.dimension_count, config.rope.dimension_count};
  return {
      has_window && attention.key_length_swa > 0 ? attention.key_length_swa : attention.key_length,
      has_window && attention.value_length_swa > 0 ? attention.value_length_swa
                                                   : attention.value_length};
}

SelfAttention BindSelfAttention(const ModelConfig& config, const ModelFamily& family, int layer,
                                int rotation, TensorBinder& binder) {
  SelfAttention attention;
  const bool has_window = HasWindow(config.attention, family, layer);
  const HeadSizes sizes = HeadSizesOf(config, family, has_window);
  if (!CheckHeads(config.attention, layer, sizes, binder)) return attention;
  const std::string block = absl::StrCat("blk.", layer, ".");
  attention.num_heads = static_cast<int>(config.attention.head_count.At(layer));
  attention.num_kv_heads = static_cast<int>(config.attention.head_count_kv.At(layer));
  attention.key_size = static_cast<int>(sizes.key);
  attention.value_size = static_cast<int>(sizes.value);
  attention.scale = config.attention.scale != 0 ? static_cast<float>(config.attention.scale)
                    : family.attention_scale != 0
                        ? family.attention_scale
                        : 1.0f / std::sqrt(static_cast<float>(attention.key_size));
  attention.window = has_window ? config.attention.sliding_window : 0;
  attention.rotation = rotation;
  attention.norms_values = family.norms_values;
  attention.values_are_keys = !has_window && AreValuesKeys(config, family, binder);
  if (attention.values_are_keys && attention.key_size != attention.value_size) {
    binder.Refuse("hparams", absl::StrCat("keys of ", attention.key_size,
                                          " values are values, which have ", attention.value_size));
    return attention;
  }
  attention.has_gate = family.gates_attention;
  if (attention.has_gate && attention.key_size != attention.value_size) {
    binder.Refuse("hparams", absl::StrCat("gates of ", attention.key_size, " values for heads of ",
                                          attention.value_size));
    return attention;
  }
  const bool needs_biases = family.needs_biases || family.needs_query_biases;
  BindProjections(block, config.embedding_length, needs_biases ? Need::kRequired : Need::kOptional,
                  binder, attention);
  attention.output = binder.Matrix(
      block + "attn_output", int64_t{attention.num_heads} * attention.value_size,
      config.embedding_length, family.needs_biases ? Need::kRequired : Need::kOptional);
  BindNorms(block, config, family, binder, attention);
  attention.indexer = BindBlockIndexer(config, layer, binder);
  if (family.needs_sinks) {
    attention.sinks = binder.Values(block + "attn_sinks.weight", {attention.num_heads});
  }
  return attention;
}

}  // namespace strata
