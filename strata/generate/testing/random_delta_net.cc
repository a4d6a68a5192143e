#include "strata/generate/testing/random_delta_net.h"

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "strata/core/block_type.h"
#include "strata/generate/testing/random_model.h"

namespace strata {
namespace {

constexpr int64_t kWidth = 256;
constexpr int64_t kTaps = 4;
constexpr int64_t kKeyHeads = 2;
constexpr int64_t kValueHeads = 4;
constexpr int64_t kHeadSize = 48;  // No whole number of blocks of columns.
constexpr int64_t kInner = kValueHeads * kHeadSize;
constexpr int64_t kChannels = 2 * kKeyHeads * kHeadSize + kInner;

using Tensor = RandomModel::Tensor;

void AddDeltaNet(const std::string& block, BlockType type, std::vector<Tensor>& tensors) {
  const auto add_values = [&](const char* name, std::vector<float> values) {
    const auto size = static_cast<int64_t>(values.size());
    tensors.push_back(
        {absl::StrCat(block, name), BlockType::kF32, {size}, RandomModel::Bytes(values)});
  };
  tensors.push_back({block + "attn_qkv.weight", type, {kWidth, kChannels}, ""});
  tensors.push_back({block + "attn_gate.weight", type, {kWidth, kInner}, ""});
  tensors.push_back({block + "ssm_beta.weight", BlockType::kF32, {kWidth, kValueHeads}, ""});
  tensors.push_back({block + "ssm_alpha.weight", BlockType::kF32, {kWidth, kValueHeads}, ""});
  tensors.push_back({block + "ssm_conv1d.weight", BlockType::kF32, {kTaps, kChannels}, ""});
  tensors.push_back({block + "ssm_out.weight", BlockType::kQ8_0, {kInner, kWidth}, ""});
  add_values("ssm_a", {-0.02f, -0.1f, -0.5f, -2.0f});
  add_values("ssm_dt.bias", {-2.0f, 0.0f, 0.5f, -1.0f});
  add_values("ssm_norm.weight", std::vector<float>(kHeadSize, 1.0f));
}

void AddSharedExpert(const std::string& block, BlockType type, std::vector<Tensor>& tensors) {
  for (const char* name :
       {"ffn_gate_shexp.weight", "ffn_up_shexp.weight", "ffn_down_shexp.weight"}) {
    tensors.push_back({block + name, type, {kWidth, kWidth}, ""});
  }
  tensors.push_back({block + "ffn_gate_inp_shexp.weight", BlockType::kF32, {kWidth}, ""});
}

bool IsEvenLayer(const std::string& block) { return (block[block.size() - 2] - '0') % 2 == 0; }

void Rebuild(BlockType type, std::vector<Tensor>& tensors) {
  std::vector<Tensor> rebuilt;
  for (Tensor& tensor : tensors) {
    const size_t end_of_block = tensor.name.find('.', 4) + 1;
    const std::string block = tensor.name.substr(0, end_of_block);
    if (!absl::StartsWith(tensor.name, "blk.")) {
      rebuilt.push_back(std::move(tensor));
      continue;
    }
    const std::string name = tensor.name.substr(end_of_block);
    if (name == "ffn_norm.weight") tensor.name = block + "post_attention_norm.weight";
    if (IsEvenLayer(block) && absl::StartsWith(name, "attn_") && name != "attn_norm.weight") {
      if (name == "attn_q.weight") AddDeltaNet(block, type, rebuilt);
      continue;
    }
    if (name == "attn_q.weight") tensor.dims[1] *= 2;
    if (name == "ffn_gate_inp.weight") AddSharedExpert(block, type, rebuilt);
    rebuilt.push_back(std::move(tensor));
  }
  tensors = std::move(rebuilt);
}

}  // namespace

RandomModel RandomDeltaNet(RandomModel model) {
  model.architecture = "qwen35moe";
  // Numbers that the test gives stay.
  model.numbers.insert({{"full_attention_interval", 2},
                        {"ssm.conv_kernel", kTaps},
                        {"ssm.state_size", kHeadSize},
                        {"ssm.group_count", kKeyHeads},
                        {"ssm.time_step_rank", kValueHeads},
                        {"ssm.inner_size", kInner}});
  model.edit = [type = model.type, edit = std::move(model.edit)](std::vector<Tensor>& tensors) {
    Rebuild(type, tensors);
    if (edit) edit(tensors);
  };
  return model;
}

}  // namespace strata
