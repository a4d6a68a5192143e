#include "strata/generate/testing/random_streams.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "strata/core/block_type.h"
#include "strata/generate/testing/random_delta_net.h"
#include "strata/generate/testing/random_model.h"

namespace strata {
namespace {

constexpr int64_t kWidth = 256;
constexpr int64_t kStreams = 3;
constexpr int64_t kAllStreams = kStreams * kWidth;
constexpr int64_t kRank = 32;
constexpr int64_t kIndexHeads = 2;
constexpr int64_t kIndexSize = 64;
constexpr int64_t kTableWidth = 64;
constexpr int64_t kTableRows = 416;
constexpr int64_t kTaps = 3;

using Tensor = RandomModel::Tensor;

Tensor Norm(const std::string& name, int64_t size) {
  std::vector<float> weights(size);
  for (int64_t i = 0; i < size; ++i) weights[i] = 1.0f + 0.3f * std::sin(static_cast<float>(i));
  return {name, BlockType::kF32, {size}, RandomModel::Bytes(weights)};
}

void AddMixer(const std::string& stem, BlockType type, bool has_inject,
              std::vector<Tensor>& tensors) {
  tensors.push_back(Norm(stem + "_norm.weight", kAllStreams));
  tensors.push_back({stem + "_down.weight", type, {kAllStreams, kRank}, ""});
  tensors.push_back({stem + "_up.weight", BlockType::kQ8_0, {kRank, kAllStreams}, ""});
  if (!has_inject) return;
  tensors.push_back({stem + "_inject.weight", BlockType::kF32, {kAllStreams, kStreams}, ""});
}

void AddIndexer(const std::string& block, BlockType type, std::vector<Tensor>& tensors) {
  tensors.push_back(
      {block + "indexer.q_proj.weight", type, {kWidth, kIndexHeads * kIndexSize}, ""});
  tensors.push_back({block + "indexer.k_proj.weight", type, {kWidth, kIndexSize}, ""});
  tensors.push_back(Norm(block + "indexer.q_norm.weight", kIndexSize));
  tensors.push_back(Norm(block + "indexer.k_norm.weight", kIndexSize));
}

void AddTable(BlockType type, std::vector<Tensor>& tensors) {
  tensors.push_back(
      {"per_layer_token_embd.weight", BlockType::kQ8_0, {kTableWidth, kTableRows}, ""});
  tensors.push_back({"blk.0.ple_key.weight", type, {kWidth, kAllStreams}, ""});
  tensors.push_back({"blk.0.ple_value.weight", type, {kWidth, kWidth}, ""});
  for (const char* name : {"key", "query", "conv"}) {
    tensors.push_back(Norm(absl::StrCat("blk.0.ple_norm_", name, ".weight"), kAllStreams));
  }
  tensors.push_back({"blk.0.ple_conv1d.weight", BlockType::kF32, {kTaps, kAllStreams}, ""});
}

void Rebuild(BlockType type, std::vector<Tensor>& tensors) {
  std::vector<Tensor> rebuilt;
  for (Tensor& tensor : tensors) {
    const std::string block = tensor.name.substr(0, tensor.name.find('.', 4) + 1);
    if (absl::EndsWith(tensor.name, ".post_attention_norm.weight")) {
      AddMixer(block + "hc_ffn", type, /*has_inject=*/true, rebuilt);
    } else if (absl::EndsWith(tensor.name, ".attn_norm.weight")) {
      AddMixer(block + "hc_attn", type, /*has_inject=*/true, rebuilt);
    } else if (tensor.name == "output_norm.weight") {
      AddMixer("output_hc", type, /*has_inject=*/false, rebuilt);
    } else {
      if (absl::EndsWith(tensor.name, ".attn_q.weight")) AddIndexer(block, type, rebuilt);
      rebuilt.push_back(std::move(tensor));
    }
  }
  AddTable(type, rebuilt);
  tensors = std::move(rebuilt);
}

}  // namespace

RandomModel RandomStreams(RandomModel model) {
  const std::function<void(std::vector<Tensor>&)> edit = std::move(model.edit);
  std::vector<uint64_t> block_sizes;
  for (int layer = 0; layer < model.num_layers; ++layer) block_sizes.push_back(layer % 2 * 4);
  // What the test gives stays.
  model.numbers.insert({{"hyper_connection.count", kStreams},
                        {"hyper_connection.low_rank", kRank},
                        {"attention.indexer.head_count", kIndexHeads},
                        {"attention.indexer.key_length", kIndexSize},
                        {"attention.indexer.top_k", 16},
                        {"ple.ngram_size", 3},
                        {"ple.heads_per_ngram", 2},
                        {"ple.conv_kernel", kTaps},
                        {"ple.eos_token_id", 5},
                        {"embedding_length_per_layer_input", kTableWidth}});
  model.arrays.insert(
      {{"attention.compress_ratios", block_sizes},
       {"ple.layers", {0}},
       {"ple.layer_multipliers", {291959220988793, 27448217319671349, 23288516139689575}},
       {"ple.head_offsets", {0, 97, 198, 301}},
       {"ple.head_vocab_sizes", {97, 101, 103, 107}}});
  model.edit = [type = model.type, edit](std::vector<Tensor>& tensors) {
    Rebuild(type, tensors);
    if (edit) edit(tensors);
  };
  model = RandomDeltaNet(std::move(model));
  model.architecture = "qwen4exp";
  return model;
}

}  // namespace strata
