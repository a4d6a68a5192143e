#include "strata/generate/model/bind_latent_attention.h"

#include <cmath>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "strata/core/gguf/model_config.h"
#include "strata/generate/model/bind_rotation.h"
#include "strata/generate/model/model_family.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/tensor_binder.h"

namespace strata {
namespace {

// Far beyond any model; products of such numbers do not overflow.
constexpr int64_t kMaxHeads = 1 << 16;
constexpr int64_t kMaxSize = 1 << 16;

// False, and an error, when the sizes are impossible. Where the key matrices are transposed, files
// give the sizes of heads under keys of their own, since key_length is then the compressed row's.
bool TakeSizes(const ModelConfig& config, int layer, TensorBinder& binder,
               LatentAttention& attention) {
  const AttentionConfig& from = config.attention;
  const int64_t heads = from.head_count.At(layer);
  const int64_t key = from.key_length_mla > 0 ? from.key_length_mla : from.key_length;
  const int64_t value = from.value_length_mla > 0 ? from.value_length_mla : from.value_length;
  const int64_t rotated = config.rope.dimension_count;
  if (heads < 1 || heads > kMaxHeads || key > kMaxSize || value < 1 || value > kMaxSize ||
      from.kv_lora_rank > kMaxSize || from.q_lora_rank > kMaxSize || rotated >= key) {
    binder.Refuse("hparams", absl::StrCat("layer ", layer, " has ", heads, " heads of ", key,
                                          " and ", value, " values, of which ", rotated,
                                          " rotate, over rows of ", from.kv_lora_rank));
    return false;
  }
  // So that rows which begin on cache lines have no gaps between them.
  constexpr int64_t kRowUnit = 16;
  if (from.kv_lora_rank % kRowUnit != 0) {
    binder.Refuse("hparams", absl::StrCat("attention.kv_lora_rank is ", from.kv_lora_rank,
                                          ", no multiple of ", kRowUnit));
    return false;
  }
  attention.num_heads = static_cast<int>(heads);
  attention.plain_size = static_cast<int>(key - rotated);
  attention.rotated_size = static_cast<int>(rotated);
  attention.compressed_size = static_cast<int>(from.kv_lora_rank);
  attention.value_size = static_cast<int>(value);
  return true;
}

void BindQuery(const std::string& block, const ModelConfig& config, TensorBinder& binder,
               LatentAttention& attention) {
  const int64_t rows = int64_t{attention.num_heads} * attention.query_size();
  if (binder.Has(block + "attn_q.weight")) {
    attention.query = binder.Matrix(block + "attn_q", config.embedding_length, rows);
    return;
  }
  const int64_t rank = config.attention.q_lora_rank;
  attention.query_compress = binder.Matrix(block + "attn_q_a", config.embedding_length, rank);
  attention.query_norm = binder.Values(block + "attn_q_a_norm.weight", {rank});
  attention.query = binder.Matrix(block + "attn_q_b", rank, rows);
}

void BindKeysAndValues(const std::string& block, const ModelConfig& config, TensorBinder& binder,
                       LatentAttention& attention) {
  const int64_t plain = attention.plain_size;
  const int64_t value = attention.value_size;
  const int64_t compressed = attention.compressed_size;
  attention.compress =
      binder.Matrix(block + "attn_kv_a_mqa", config.embedding_length, attention.row_size());
  attention.compressed_norm = binder.Values(block + "attn_kv_a_norm.weight", {compressed});
  if (binder.Has(block + "attn_k_b.weight") || config.attention.key_length_mla > 0) {
    attention.key_is_transposed = true;
    attention.key = binder.HeadMatrices(block + "attn_k_b", plain, compressed, attention.num_heads);
    attention.value =
        binder.HeadMatrices(block + "attn_v_b", compressed, value, attention.num_heads);
    return;
  }
  const Linear both =
      binder.Matrix(block + "attn_kv_b", compressed, attention.num_heads * (plain + value));
  if (!both.bias.empty()) {
    binder.Refuse("unsupported_arch", absl::StrCat(block, "attn_kv_b.bias cannot be used"));
  }
  attention.key = TensorBinder::HeadRows(both, 0, plain, plain + value);
  attention.value = TensorBinder::HeadRows(both, plain, value, plain + value);
}

}  // namespace

LatentAttention BindLatentAttention(const ModelConfig& config, const ModelFamily& family, int layer,
                                    int rotation, TensorBinder& binder) {
  LatentAttention attention;
  if (!TakeSizes(config, layer, binder, attention)) return attention;
  const std::string block = absl::StrCat("blk.", layer, ".");
  const double stretch = YarnFactorsOf(config, family).scores;
  attention.scale = static_cast<float>(stretch * stretch / std::sqrt(attention.query_size()));
  attention.rotation = rotation;
  BindQuery(block, config, binder, attention);
  BindKeysAndValues(block, config, binder, attention);
  attention.output =
      binder.Matrix(block + "attn_output", int64_t{attention.num_heads} * attention.value_size,
                    config.embedding_length);
  return attention;
}

}  // namespace strata
