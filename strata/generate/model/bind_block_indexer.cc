#include "strata/generate/model/bind_block_indexer.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "strata/core/gguf/model_config.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/tensor_binder.h"

namespace strata {
namespace {

// Far beyond any model; products of two such numbers do not overflow.
constexpr int64_t kMaxHeads = 1 << 10;
constexpr int64_t kMaxHeadSize = 1 << 16;
constexpr int64_t kMaxKept = 1 << 24;

bool CanBe(const AttentionConfig& config, int64_t block_size, int64_t num_rotated) {
  return BlockIndexer::kMaxBlockSize % block_size == 0 && config.indexer_head_count >= 1 &&
         config.indexer_head_count <= kMaxHeads && config.indexer_key_length >= 1 &&
         config.indexer_key_length >= num_rotated && config.indexer_key_length <= kMaxHeadSize &&
         config.indexer_top_k >= 1 && config.indexer_top_k % block_size == 0 &&
         config.indexer_top_k <= kMaxKept;
}

}  // namespace

std::optional<BlockIndexer> BindBlockIndexer(const ModelConfig& config, int layer,
                                             TensorBinder& binder) {
  const AttentionConfig& attention = config.attention;
  const std::vector<int64_t>& block_sizes = attention.compress_ratios;
  if (block_sizes.empty()) return std::nullopt;
  if (static_cast<int64_t>(block_sizes.size()) != config.block_count) {
    binder.Refuse("hparams", absl::StrCat("attention.compress_ratios has ", block_sizes.size(),
                                          " elements for ", config.block_count, " blocks"));
    return std::nullopt;
  }
  const int64_t block_size = block_sizes[layer];
  if (block_size == 0) return std::nullopt;
  if (!CanBe(attention, block_size, config.rope.dimension_count)) {
    binder.Refuse(
        "hparams",
        absl::StrCat("layer ", layer, ": attention.compress_ratios is ", block_size,
                     ", indexer.head_count ", attention.indexer_head_count, ", key_length ",
                     attention.indexer_key_length, ", top_k ", attention.indexer_top_k));
    return std::nullopt;
  }
  BlockIndexer indexer;
  indexer.num_heads = static_cast<int>(attention.indexer_head_count);
  indexer.head_size = static_cast<int>(attention.indexer_key_length);
  indexer.block_size = static_cast<int>(block_size);
  indexer.num_kept = static_cast<int>(attention.indexer_top_k / block_size);
  const std::string stem = absl::StrCat("blk.", layer, ".indexer.");
  const int64_t width = config.embedding_length;
  indexer.query = binder.Matrix(stem + "q_proj", width,
                                attention.indexer_head_count * attention.indexer_key_length);
  indexer.key = binder.Matrix(stem + "k_proj", width, attention.indexer_key_length);
  indexer.query_norm = binder.Values(stem + "q_norm.weight", {attention.indexer_key_length});
  indexer.key_norm = binder.Values(stem + "k_norm.weight", {attention.indexer_key_length});
  return indexer;
}

}  // namespace strata
