#include "strata/core/gguf/model_config.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "strata/core/error.h"
#include "strata/core/gguf/architecture.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_value.h"
#include "strata/core/gguf/metadata_reader.h"
#include "strata/core/printable.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

absl::StatusOr<const Architecture*> ReadArchitecture(const GgufFile& file) {
  MetadataReader reader(file, "");
  std::string name;
  reader.Require("general.architecture");
  reader.Read("general.architecture", name);
  RETURN_IF_ERROR(reader.status());
  const Architecture* const architecture = FindArchitecture(name);
  if (architecture != nullptr) return architecture;
  // Families that can be read are many more than those that run, so they are not listed here.
  return InputError(
      "unsupported_arch", file.path(),
      absl::StrCat("general.architecture is '", Printable(name, 80), "', which is not known"));
}

// An array must have a number for each block.
void ReadPerBlock(MetadataReader& reader, absl::string_view key, int64_t block_count,
                  PerBlock& target) {
  std::vector<int64_t> values = target.values();
  reader.Read(key, values);
  if (values.size() != 1 && static_cast<int64_t>(values.size()) != block_count) {
    reader.Refuse(key,
                  absl::StrCat("has ", values.size(), " elements for ", block_count, " blocks"));
    return;
  }
  target = PerBlock(std::move(values));
}

void Require(MetadataReader& reader, absl::string_view key, int64_t& target) {
  reader.Require(key);
  reader.Read(key, target);
  if (reader.Has(key) && target == 0) reader.Refuse(key, "is 0");
}

void ReadSizes(MetadataReader& reader, ModelConfig& config) {
  Require(reader, "block_count", config.block_count);
  Require(reader, "context_length", config.context_length);
  Require(reader, "embedding_length", config.embedding_length);
  reader.Read("nextn_predict_layers", config.nextn_predict_layers);
  if (config.nextn_predict_layers > 0 && config.nextn_predict_layers >= config.block_count) {
    reader.Refuse("nextn_predict_layers",
                  absl::StrCat("is ", config.nextn_predict_layers, ", which leaves none of the ",
                               config.block_count, " blocks for the model itself"));
  }
  ReadPerBlock(reader, "feed_forward_length", config.block_count, config.feed_forward_length);
  reader.Read("vocab_size", config.vocab_size);
}

void ReadHeads(MetadataReader& reader, const ModelConfig& config, AttentionConfig& attention) {
  reader.Require("attention.head_count");
  ReadPerBlock(reader, "attention.head_count", config.block_count, attention.head_count);
  attention.head_count_kv = attention.head_count;
  ReadPerBlock(reader, "attention.head_count_kv", config.block_count, attention.head_count_kv);
  const int64_t heads = attention.head_count.max();
  if (heads == 0) {
    reader.Refuse("attention.head_count", "is 0");
    return;
  }
  attention.key_length = config.embedding_length / heads;
  reader.Read("attention.key_length", attention.key_length);
  attention.value_length = config.embedding_length / heads;
  reader.Read("attention.value_length", attention.value_length);
  if (attention.key_length == 0 || attention.value_length == 0) {
    reader.Refuse("attention.key_length",
                  absl::StrCat("or value_length is 0, with ", heads, " heads for ",
                               config.embedding_length, " values"));
  }
}

void ReadAttention(MetadataReader& reader, AttentionConfig& attention) {
  reader.Read("attention.key_length_swa", attention.key_length_swa);
  reader.Read("attention.value_length_swa", attention.value_length_swa);
  reader.Read("attention.key_length_mla", attention.key_length_mla);
  reader.Read("attention.value_length_mla", attention.value_length_mla);
  reader.Read("attention.q_lora_rank", attention.q_lora_rank);
  reader.Read("attention.kv_lora_rank", attention.kv_lora_rank);
  reader.Read("attention.scale", attention.scale);
  reader.Read("attention.clamp_kqv", attention.clamp_kqv);
  reader.Read("attention.layer_norm_epsilon", attention.layer_norm_epsilon);
  reader.Read("attention.layer_norm_rms_epsilon", attention.layer_norm_rms_epsilon);
  if (!reader.Has("attention.layer_norm_epsilon")) {
    reader.Require("attention.layer_norm_rms_epsilon");
  }
  if (attention.layer_norm_epsilon < 0 || attention.layer_norm_rms_epsilon < 0) {
    reader.Refuse("attention.layer_norm_rms_epsilon", "or layer_norm_epsilon is negative");
  }
  reader.Read("attention.sliding_window", attention.sliding_window);
  reader.ReadFlags("attention.sliding_window_pattern", attention.sliding_window_pattern);
  reader.Read("attention.shared_kv_layers", attention.shared_kv_layers);
  reader.Read("attention.temperature_scale", attention.temperature_scale);
  reader.Read("attention.temperature_length", attention.temperature_length);
  reader.Read("attention.compress_ratios", attention.compress_ratios);
  reader.Read("attention.indexer.head_count", attention.indexer_head_count);
  reader.Read("attention.indexer.key_length", attention.indexer_key_length);
  reader.Read("attention.indexer.top_k", attention.indexer_top_k);
}

void ReadRope(MetadataReader& reader, const ModelConfig& config, RopeConfig& rope) {
  rope.kind = config.architecture->rope;
  rope.dimension_count = config.attention.key_length;
  reader.Read("rope.dimension_count", rope.dimension_count);
  if (rope.kind != RopeKind::kNone && rope.dimension_count % 2 != 0) {
    reader.Refuse("rope.dimension_count", absl::StrCat("is ", rope.dimension_count, ", odd"));
  }
  reader.Read("rope.dimension_count_swa", rope.dimension_count_swa);
  reader.Read("rope.dimension_sections", rope.dimension_sections);
  reader.Read("rope.freq_base", rope.freq_base);
  if (rope.freq_base <= 0) reader.Refuse("rope.freq_base", "is not positive");
  reader.Read("rope.freq_base_swa", rope.freq_base_swa);
  reader.Read("rope.scale_linear", rope.scaling_factor);  // What the next was once called.
  reader.Read("rope.scaling.factor", rope.scaling_factor);
  if (rope.scaling_factor < 0) reader.Refuse("rope.scaling.factor", "is negative");
  rope.scaling_type = rope.scaling_factor > 0 ? "linear" : "none";
  reader.Read("rope.scaling.type", rope.scaling_type);
  reader.Read("rope.scaling.original_context_length", rope.original_context_length);
  reader.Read("rope.scaling.attn_factor", rope.attn_factor);
  if (bool finetuned = false; reader.Has("rope.scaling.finetuned")) {
    reader.Read("rope.scaling.finetuned", finetuned);
    rope.finetuned = finetuned;
  }
  reader.Read("rope.scaling.yarn_log_multiplier", rope.yarn_log_multiplier);
  reader.Read("rope.scaling.yarn_ext_factor", rope.yarn_ext_factor);
  reader.Read("rope.scaling.yarn_attn_factor", rope.yarn_attn_factor);
  reader.Read("rope.scaling.yarn_beta_fast", rope.yarn_beta_fast);
  reader.Read("rope.scaling.yarn_beta_slow", rope.yarn_beta_slow);
}

void ReadRouting(MetadataReader& reader, const Architecture& architecture, int64_t vocab_size,
                 ExpertConfig& experts) {
  int64_t gating = 0;
  reader.Read("expert_gating_func", gating);
  if (gating > static_cast<int64_t>(ExpertGating::kSqrtSoftplus)) {
    reader.Refuse("expert_gating_func", absl::StrCat("is ", gating, "; 0 to 4 are known"));
  }
  experts.gating = static_cast<ExpertGating>(gating);
  if (gating == 0) {
    const bool is_sigmoid = vocab_size > 0 && vocab_size == architecture.sigmoid_vocabulary;
    experts.gating = is_sigmoid ? ExpertGating::kSigmoid : architecture.gating;
  }
  experts.weights_norm = architecture.normalizes_weights;
  reader.Read("expert_weights_norm", experts.weights_norm);
  reader.Read("expert_weights_scale", experts.weights_scale);
  reader.Read("expert_group_count", experts.group_count);
  reader.Read("expert_group_used_count", experts.group_used_count);
  if (experts.group_count > 1 &&
      (experts.count % experts.group_count != 0 || experts.group_used_count == 0 ||
       experts.group_used_count > experts.group_count)) {
    reader.Refuse("expert_group_count",
                  absl::StrCat("is ", experts.group_count, ", of which ", experts.group_used_count,
                               " are used, for ", experts.count, " experts"));
  }
}

void ReadExperts(MetadataReader& reader, const Architecture& architecture, int64_t vocab_size,
                 ExpertConfig& experts) {
  experts.activation = architecture.activation;
  experts.weighs_input = architecture.weighs_input;
  reader.Read("expert_count", experts.count);
  reader.Read("expert_used_count", experts.used_count);
  ReadRouting(reader, architecture, vocab_size, experts);
  reader.Read("expert_feed_forward_length", experts.feed_forward_length);
  reader.Read("expert_shared_count", experts.shared_count);
  reader.Read("expert_shared_feed_forward_length", experts.shared_feed_forward_length);
  reader.Read("expert_chunk_feed_forward_length", experts.chunk_feed_forward_length);
  reader.Read("leading_dense_block_count", experts.leading_dense_block_count);
  reader.Read("interleave_moe_layer_step", experts.interleave_moe_layer_step);
  reader.Read("moe_every_n_layers", experts.moe_every_n_layers);
  reader.Read("moe_latent_size", experts.latent_length);
  reader.Read("expert_latent_length", experts.latent_length);
  reader.Read("hash_layer_count", experts.hash_layer_count);
  reader.Read("swiglu_clamp_exp", experts.swiglu_clamp_exp);
  reader.Read("swiglu_clamp_shexp", experts.swiglu_clamp_shexp);
}

void ReadRecurrent(MetadataReader& reader, RecurrentConfig& recurrent) {
  reader.Read("ssm.conv_kernel", recurrent.ssm_conv_kernel);
  reader.Read("ssm.inner_size", recurrent.ssm_inner_size);
  reader.Read("ssm.state_size", recurrent.ssm_state_size);
  reader.Read("ssm.time_step_rank", recurrent.ssm_time_step_rank);
  reader.Read("ssm.group_count", recurrent.ssm_group_count);
  reader.Read("ssm.dt_b_c_rms", recurrent.ssm_dt_b_c_rms);
  reader.Read("full_attention_interval", recurrent.full_attention_interval);
  reader.ReadFlags("attention.recurrent_layers", recurrent.recurrent_layers);
  reader.Read("kda.head_dim", recurrent.kda_head_dim);
  reader.Read("shortconv.l_cache", recurrent.shortconv_l_cache);
}

void ReadScales(MetadataReader& reader, ScaleConfig& scales, StreamConfig& streams) {
  reader.Read("embedding_scale", scales.embedding);
  reader.Read("residual_scale", scales.residual);
  reader.Read("logit_scale", scales.logit);
  reader.Read("attn_logit_softcapping", scales.attn_logit_softcapping);
  reader.Read("router_logit_softcapping", scales.router_logit_softcapping);
  reader.Read("final_logit_softcapping", scales.final_logit_softcapping);
  reader.Read("hyper_connection.count", streams.hyper_connection_count);
  reader.Read("hyper_connection.low_rank", streams.hyper_connection_low_rank);
  reader.Read("embedding_length_per_layer_input", streams.embedding_length_per_layer_input);
}

void ReadNgrams(MetadataReader& reader, NgramConfig& ngrams) {
  reader.Read("ple.layers", ngrams.layers);
  reader.Read("ple.ngram_size", ngrams.ngram_size);
  reader.Read("ple.heads_per_ngram", ngrams.heads_per_ngram);
  reader.Read("ple.conv_kernel", ngrams.conv_kernel);
  reader.Read("ple.eos_token_id", ngrams.eos_token_id);
  reader.ReadWide("ple.layer_multipliers", ngrams.layer_multipliers);
  reader.ReadWide("ple.head_offsets", ngrams.head_offsets);
  reader.ReadWide("ple.head_vocab_sizes", ngrams.head_vocab_sizes);
}

absl::Status CheckExpertCounts(const ExpertConfig& experts, const GgufFile& file) {
  const bool possible = experts.count == 0
                            ? experts.used_count == 0
                            : experts.used_count >= 1 && experts.used_count <= experts.count;
  if (possible) return absl::OkStatus();
  return InputError("moe_counts", file.path(),
                    absl::StrCat("expert_used_count is ", experts.used_count, ", expert_count is ",
                                 experts.count));
}

int64_t NumTokens(const GgufFile& file) {
  const GgufValue* const tokens = file.FindKey("tokenizer.ggml.tokens");
  const std::optional<GgufArray> array = tokens == nullptr ? std::nullopt : tokens->AsArray();
  return array.has_value() ? array->size() : 0;
}

}  // namespace

int64_t PerBlock::At(int64_t block) const {
  if (values_.size() == 1) return values_[0];
  CHECK(block >= 0 && block < static_cast<int64_t>(values_.size()))
      << "there is no block " << block;
  return values_[static_cast<size_t>(block)];
}

int64_t PerBlock::max() const { return *std::max_element(values_.begin(), values_.end()); }

absl::StatusOr<ModelConfig> ModelConfig::Create(const GgufFile& file) {
  ModelConfig config;
  ASSIGN_OR_RETURN(config.architecture, ReadArchitecture(file));
  config.vocab_size = NumTokens(file);
  MetadataReader general(file, "general");
  general.Read("name", config.name);
  RETURN_IF_ERROR(general.status());

  MetadataReader reader(file, config.architecture->name);
  ReadSizes(reader, config);
  ReadHeads(reader, config, config.attention);
  ReadAttention(reader, config.attention);
  ReadRope(reader, config, config.rope);
  ReadExperts(reader, *config.architecture, config.vocab_size, config.experts);
  ReadRecurrent(reader, config.recurrent);
  ReadScales(reader, config.scales, config.streams);
  ReadNgrams(reader, config.ngrams);
  RETURN_IF_ERROR(reader.status());
  RETURN_IF_ERROR(CheckExpertCounts(config.experts, file));
  return config;
}

}  // namespace strata
