#include "strata/generate/testing/random_model.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "strata/core/block_type.h"
#include "strata/core/gguf/gguf_value.h"
#include "strata/core/gguf/gguf_writer.h"
#include "strata/generate/blocks/random_weights.h"

namespace strata {
namespace {

constexpr int64_t kWidth = 256;
constexpr int64_t kHeadSize = 64;
constexpr int64_t kHeads = 2;
constexpr int64_t kExpertWidth = 256;

using Tensors = std::vector<RandomModel::Tensor>;

void AddNorm(const std::string& name, int64_t size, Tensors& tensors) {
  tensors.push_back(
      {name, BlockType::kF32, {size}, RandomModel::Bytes(std::vector<float>(size, 1.0f))});
}

Tensors TensorsOf(const RandomModel& model) {
  const BlockType type = model.type;
  Tensors tensors;
  tensors.push_back({"token_embd.weight", BlockType::kF32, {kWidth, model.vocabulary}, ""});
  for (int layer = 0; layer < model.num_layers; ++layer) {
    const std::string block = absl::StrCat("blk.", layer, ".");
    AddNorm(block + "attn_norm.weight", kWidth, tensors);
    AddNorm(block + "ffn_norm.weight", kWidth, tensors);
    AddNorm(block + "attn_q_norm.weight", kHeadSize, tensors);
    AddNorm(block + "attn_k_norm.weight", kHeadSize, tensors);
    tensors.push_back({block + "attn_q.weight", type, {kWidth, kHeads * kHeadSize}, ""});
    tensors.push_back({block + "attn_k.weight", type, {kWidth, kHeadSize}, ""});
    tensors.push_back({block + "attn_v.weight", type, {kWidth, kHeadSize}, ""});
    // Its rows are no whole blocks of 256 weights.
    tensors.push_back(
        {block + "attn_output.weight", BlockType::kQ8_0, {kHeads * kHeadSize, kWidth}, ""});
    tensors.push_back(
        {block + "ffn_gate_inp.weight", BlockType::kF32, {kWidth, model.num_experts}, ""});
    const std::vector<int64_t> in = {kWidth, kExpertWidth, model.num_experts};
    const std::vector<int64_t> out = {kExpertWidth, kWidth, model.num_experts};
    tensors.push_back({block + "ffn_gate_exps.weight", type, in, ""});
    tensors.push_back({block + "ffn_up_exps.weight", type, in, ""});
    tensors.push_back({block + "ffn_down_exps.weight", type, out, ""});
  }
  AddNorm("output_norm.weight", kWidth, tensors);
  tensors.push_back({"output.weight", type, {kWidth, model.vocabulary}, ""});
  return tensors;
}

void AddKeys(const RandomModel& model, GgufWriter& writer) {
  const std::string prefix = model.architecture + ".";
  writer.Key("general.architecture", model.architecture)
      .Key(prefix + "attention.layer_norm_rms_epsilon", 1e-6f);
  std::map<std::string, uint32_t> numbers = model.numbers;
  numbers.insert({{"context_length", 4096},
                  {"embedding_length", kWidth},
                  {"block_count", model.num_layers},
                  {"feed_forward_length", kExpertWidth},
                  {"expert_feed_forward_length", kExpertWidth},
                  {"attention.head_count", kHeads},
                  {"attention.head_count_kv", 1},
                  {"attention.key_length", kHeadSize},
                  {"attention.value_length", kHeadSize},
                  {"expert_count", model.num_experts},
                  {"expert_used_count", model.num_chosen}});
  for (const auto& [key, value] : numbers) writer.Key(prefix + key, value);
  for (const auto& [key, values] : model.arrays) {
    GgufBytes array;
    array.Type(GgufType::kU64).Number(uint64_t{values.size()});
    for (const uint64_t value : values) array.Number(value);
    writer.Key(prefix + key, GgufType::kArray, array);
  }
  for (const auto& [key, text] : model.texts) writer.Key(key, text);
}

}  // namespace

std::string RandomModel::Bytes(const std::vector<float>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

std::string RandomModel::Write(absl::string_view name) const {
  GgufWriter writer;
  AddKeys(*this, writer);
  std::vector<Tensor> tensors = TensorsOf(*this);
  if (edit) edit(tensors);
  std::mt19937 random(1);
  for (Tensor& tensor : tensors) {
    if (tensor.bytes.empty()) {
      int64_t num_weights = 1;
      for (const int64_t dim : tensor.dims) num_weights *= dim;
      const std::vector<std::byte> bytes = RandomWeights(tensor.type, num_weights, random);
      tensor.bytes.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    writer.Tensor(tensor.name, tensor.type, tensor.dims, tensor.bytes);
  }
  const char* const folder = std::getenv("TEST_TMPDIR");
  const std::string path = absl::StrCat(folder == nullptr ? "/tmp" : folder, "/", name, ".gguf");
  writer.WriteTo(path);
  return path;
}

}  // namespace strata
