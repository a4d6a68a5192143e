#include "strata/generate/model/bind_ngrams.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_tensor.h"
#include "strata/core/gguf/model_config.h"
#include "strata/generate/model/bind_convolution.h"
#include "strata/generate/model/bind_streams.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/tensor_binder.h"

namespace strata {
namespace {

constexpr char kTable[] = "per_layer_token_embd.weight";

bool CanBe(const NgramConfig& config, const ModelConfig& model) {
  if (config.layers.size() != 1 || config.layers[0] >= model.trunk_layers()) return false;
  if (config.ngram_size < 2 || config.ngram_size > NgramEmbedding::kMaxTokens) return false;
  if (config.eos_token_id > std::numeric_limits<int32_t>::max()) return false;
  const auto num_heads = static_cast<int64_t>(config.head_offsets.size());
  return static_cast<int64_t>(config.layer_multipliers.size()) == config.ngram_size &&
         config.heads_per_ngram >= 1 && num_heads % config.heads_per_ngram == 0 &&
         num_heads / config.heads_per_ngram == config.ngram_size - 1 &&
         config.head_vocab_sizes.size() == config.head_offsets.size() &&
         model.embedding_length % num_heads == 0 &&
         model.embedding_length / num_heads == model.streams.embedding_length_per_layer_input;
}

// Every row that a head can choose is in the table.
void BindHeads(const NgramConfig& config, int64_t num_rows, TensorBinder& binder,
               NgramEmbedding& ngrams) {
  const auto rows = static_cast<uint64_t>(num_rows);
  for (size_t i = 0; i < config.head_offsets.size(); ++i) {
    const NgramEmbedding::Head head = {.first_row = config.head_offsets[i],
                                       .num_rows = config.head_vocab_sizes[i]};
    if (head.num_rows == 0 || head.first_row > rows || head.num_rows > rows - head.first_row) {
      binder.Refuse("hparams", absl::StrCat("ple.head_offsets and head_vocab_sizes have ",
                                            head.num_rows, " rows from ", head.first_row, " on; ",
                                            kTable, " has ", num_rows));
    }
    ngrams.heads.push_back(head);
  }
}

}  // namespace

NgramEmbedding BindNgrams(const GgufFile& file, const ModelConfig& config, TensorBinder& binder) {
  NgramEmbedding ngrams;
  const NgramConfig& from = config.ngrams;
  if (!CanBe(from, config)) {
    binder.Refuse("hparams",
                  absl::StrCat("ple.layers, ngram_size, heads_per_ngram, layer_multipliers, "
                               "head_offsets and head_vocab_sizes of ",
                               from.layers.size(), ", ", from.ngram_size, ", ",
                               from.heads_per_ngram, ", ", from.layer_multipliers.size(), ", ",
                               from.head_offsets.size(), " and ", from.head_vocab_sizes.size(),
                               " cannot be joined to ", config.embedding_length, " values"));
    return ngrams;
  }
  ngrams.layer = static_cast<int>(from.layers[0]);
  ngrams.num_tokens = static_cast<int>(from.ngram_size);
  ngrams.end_token = static_cast<int32_t>(from.eos_token_id);
  ngrams.multipliers = from.layer_multipliers;
  const GgufTensor* const table = file.FindTensor(kTable);
  if (table == nullptr) {
    binder.Refuse("tensor_missing",
                  absl::StrCat("tensor ", kTable, " is not there; where it has a file of its own, ",
                               "both are named: MODEL.gguf,TABLE.gguf"));
    return ngrams;
  }
  const int64_t num_rows = table->all_dims[1];
  ngrams.table = binder.Table(kTable, config.streams.embedding_length_per_layer_input, num_rows);
  BindHeads(from, num_rows, binder, ngrams);

  const std::string block = absl::StrCat("blk.", ngrams.layer, ".");
  const int64_t width = config.embedding_length;
  const int64_t all_streams = width * NumStreams(config, binder);
  ngrams.key = binder.Matrix(block + "ple_key", width, all_streams);
  ngrams.value = binder.Matrix(block + "ple_value", width, width);
  ngrams.key_norm = binder.Values(block + "ple_norm_key.weight", {all_streams});
  ngrams.query_norm = binder.Values(block + "ple_norm_query.weight", {all_streams});
  ngrams.convolution_norm = binder.Values(block + "ple_norm_conv.weight", {all_streams});
  ngrams.convolution =
      BindConvolution(block + "ple_conv1d.weight", from.conv_kernel, all_streams, binder);
  ngrams.convolution.dilation = ngrams.num_tokens;
  return ngrams;
}

}  // namespace strata
