// What a model's metadata says about its shape: one neutral struct for all architectures.
//
// Fields carry the names of their keys (`general.architecture` + "." + key), so the format's
// documentation applies; a field whose key is absent holds the default named here. Nothing is sized
// by a number of the file, and no number is compared with tensors: that is ExpertLayout's and the
// model's part. Every integer is 0 to 2^32-1 unless said, every float finite.
#ifndef STRATA_CORE_GGUF_MODEL_CONFIG_H_
#define STRATA_CORE_GGUF_MODEL_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "strata/core/gguf/architecture.h"
#include "strata/core/gguf/gguf_file.h"

namespace strata {

// A number for each block: one for all, or an array as long as block_count.
class PerBlock {
 public:
  PerBlock() = default;
  // Not empty.
  explicit PerBlock(std::vector<int64_t> values) : values_(std::move(values)) {}
  int64_t At(int64_t block) const;
  // The largest of all blocks.
  int64_t max() const;
  // One number, or one for each block.
  const std::vector<int64_t>& values() const { return values_; }

 private:
  std::vector<int64_t> values_ = {0};
};

struct RopeConfig {
  RopeKind kind = RopeKind::kNeighbours;
  int64_t dimension_count = 0;      // Values of a head that rotate; default key_length.
  int64_t dimension_count_swa = 0;  // Of sliding-window blocks; 0: as dimension_count.
  std::vector<int64_t> dimension_sections;
  double freq_base = 10000;
  double freq_base_swa = 0;   // Of sliding-window blocks; 0: as freq_base.
  std::string scaling_type;   // "none", "linear", "yarn", "longrope"; default "none".
  double scaling_factor = 0;  // 0: no scaling. The frequency scale is 1 / factor.
  int64_t original_context_length = 0;
  double attn_factor = 1;
  std::optional<bool> finetuned;
  double yarn_log_multiplier = 0;  // As stored.
  double yarn_ext_factor = 1;
  double yarn_attn_factor = 1;
  double yarn_beta_fast = 32;
  double yarn_beta_slow = 1;
};

struct AttentionConfig {
  PerBlock head_count;
  PerBlock head_count_kv;      // Default head_count; 0 in blocks without attention.
  int64_t key_length = 0;      // Of a head; default embedding_length / head_count.
  int64_t value_length = 0;    // The same.
  int64_t key_length_swa = 0;  // Of sliding-window blocks; 0: as key_length.
  int64_t value_length_swa = 0;
  int64_t key_length_mla = 0;
  int64_t value_length_mla = 0;
  int64_t q_lora_rank = 0;
  int64_t kv_lora_rank = 0;
  double scale = 0;  // 0: 1 / sqrt(head size).
  double clamp_kqv = 0;
  double layer_norm_epsilon = 0;
  double layer_norm_rms_epsilon = 0;
  int64_t sliding_window = 0;  // 0: none.
  // A period (every n-th block sees all), or 0 and 1 for each block; empty: the architecture's.
  std::vector<int64_t> sliding_window_pattern;
  int64_t shared_kv_layers = 0;  // The last blocks, which use keys and values of earlier ones.
  double temperature_scale = 0;
  int64_t temperature_length = 0;
  std::vector<int64_t> compress_ratios;
  int64_t indexer_head_count = 0;
  int64_t indexer_key_length = 0;
  int64_t indexer_top_k = 0;
};

struct ExpertConfig {
  int64_t count = 0;  // 0: a dense model.
  int64_t used_count = 0;
  int64_t group_count = 0;
  int64_t group_used_count = 0;
  int64_t feed_forward_length = 0;  // Width of one expert; 0: not said, see the tensors.
  int64_t shared_count = 0;
  int64_t shared_feed_forward_length = 0;
  int64_t chunk_feed_forward_length = 0;
  double weights_scale = 0;                      // 0 and 1: no scaling.
  bool weights_norm = false;                     // Default the architecture's.
  ExpertGating gating = ExpertGating::kSoftmax;  // Default the architecture's.
  ExpertActivation activation = ExpertActivation::kSilu;
  bool weighs_input = false;
  int64_t leading_dense_block_count = 0;
  int64_t interleave_moe_layer_step = 0;
  int64_t moe_every_n_layers = 0;
  int64_t latent_length = 0;  // Length of the vector that experts see; 0: embedding_length.
  int64_t hash_layer_count = 0;
  std::vector<double> swiglu_clamp_exp;    // One number, or one for each block.
  std::vector<double> swiglu_clamp_shexp;  // The same.
};

// State-space and linear-attention blocks, and short convolutions.
struct RecurrentConfig {
  int64_t ssm_conv_kernel = 0;
  int64_t ssm_inner_size = 0;
  int64_t ssm_state_size = 0;
  int64_t ssm_time_step_rank = 0;
  int64_t ssm_group_count = 0;
  bool ssm_dt_b_c_rms = false;
  int64_t full_attention_interval = 0;    // Every n-th block has full attention.
  std::vector<int64_t> recurrent_layers;  // 0 and 1 for each block, or empty.
  int64_t kda_head_dim = 0;
  int64_t shortconv_l_cache = 0;
};

// Factors on the way from token to logits.
struct ScaleConfig {
  double embedding = 0;  // 0: none, as for all of these.
  double residual = 0;
  double logit = 0;
  double attn_logit_softcapping = 0;
  double router_logit_softcapping = 0;
  double final_logit_softcapping = 0;
};

// Tables and streams beside the residual.
struct StreamConfig {
  int64_t hyper_connection_count = 0;
  int64_t hyper_connection_low_rank = 0;
  int64_t embedding_length_per_layer_input = 0;
};

// A table of rows that the last few tokens choose together; keys `ple.` and the name. Its width is
// embedding_length_per_layer_input.
struct NgramConfig {
  std::vector<int64_t> layers;  // Empty: no table.
  int64_t ngram_size = 0;
  int64_t heads_per_ngram = 0;
  int64_t conv_kernel = 0;
  int64_t eos_token_id = 0;
  std::vector<uint64_t> layer_multipliers;  // Up to 2^64 - 1, as the next two.
  std::vector<uint64_t> head_offsets;
  std::vector<uint64_t> head_vocab_sizes;
};

struct ModelConfig {
  // Model errors: unsupported_arch, key_type, hparams, moe_counts.
  static absl::StatusOr<ModelConfig> Create(const GgufFile& file);

  // Blocks that run; the NextN blocks follow them.
  int64_t trunk_layers() const { return block_count - nextn_predict_layers; }
  bool is_moe() const { return experts.count > 0; }

  const Architecture* architecture = nullptr;  // Not null once created.
  std::string name;                            // general.name; may be empty.
  int64_t block_count = 0;                     // With NextN blocks.
  int64_t nextn_predict_layers = 0;
  int64_t context_length = 0;
  int64_t embedding_length = 0;
  int64_t vocab_size = 0;  // Default the number of tokens; 0 without both.
  PerBlock feed_forward_length;
  AttentionConfig attention;
  RopeConfig rope;
  ExpertConfig experts;
  RecurrentConfig recurrent;
  ScaleConfig scales;
  StreamConfig streams;
  NgramConfig ngrams;
};

}  // namespace strata

#endif  // STRATA_CORE_GGUF_MODEL_CONFIG_H_
