#include "strata/generate/model/bind_delta_net.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "strata/core/gguf/model_config.h"
#include "strata/generate/model/bind_convolution.h"
#include "strata/generate/model/gated_activation.h"
#include "strata/generate/model/model_family.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/tensor_binder.h"

namespace strata {
namespace {

constexpr int64_t kUsualInterval = 4;
// Far beyond any model; products of the three do not overflow.
constexpr int64_t kMaxHeads = 1 << 16;
constexpr int64_t kMaxHeadSize = 1 << 12;

// False, and an error, when the heads are impossible.
bool CheckHeads(const RecurrentConfig& config, int layer, TensorBinder& binder) {
  const int64_t keys = config.ssm_group_count;
  const int64_t values = config.ssm_time_step_rank;
  const int64_t size = config.ssm_state_size;
  if (keys >= 1 && values >= 1 && values <= kMaxHeads && values % keys == 0 &&
      size <= kMaxHeadSize && config.ssm_inner_size == values * size) {
    return true;
  }
  binder.Refuse("hparams", absl::StrCat("layer ", layer, ": ssm.group_count is ", keys,
                                        ", time_step_rank ", values, ", state_size ", size,
                                        ", inner_size ", config.ssm_inner_size));
  return false;
}

class DeltaNetBinder {
 public:
  DeltaNetBinder(const ModelConfig& config, int layer, TensorBinder& binder)
      : config_(config), block_(absl::StrCat("blk.", layer, ".")), binder_(binder) {}

  GatedDeltaNet Bind(bool tiles_value_heads) {
    const RecurrentConfig& recurrent = config_.recurrent;
    net_.num_key_heads = static_cast<int>(recurrent.ssm_group_count);
    net_.num_value_heads = static_cast<int>(recurrent.ssm_time_step_rank);
    net_.head_size = static_cast<int>(recurrent.ssm_state_size);
    BindHeadOrder(tiles_value_heads);
    net_.convolution = BindConvolution(block_ + "ssm_conv1d.weight", recurrent.ssm_conv_kernel,
                                       net_.value_at() + net_.output_width(), binder_);
    BindProjections();
    BindGates();
    net_.decay_rate = binder_.Values(block_ + "ssm_a", {net_.num_value_heads});
    net_.time_bias = binder_.Values(block_ + "ssm_dt.bias", {net_.num_value_heads});
    net_.output_norm = binder_.Values(block_ + "ssm_norm.weight", {net_.head_size});
    net_.output = binder_.Matrix(block_ + "ssm_out", net_.output_width(), width());
    return std::move(net_);
  }

 private:
  int64_t width() const { return config_.embedding_length; }
  int values_per_key() const { return net_.num_value_heads / net_.num_key_heads; }

  void BindHeadOrder(bool tiles_value_heads) {
    value_heads_.resize(net_.num_key_heads);
    for (int head = 0; head < net_.num_value_heads; ++head) {
      const int key_head = tiles_value_heads ? head % net_.num_key_heads : head / values_per_key();
      net_.key_head_of.push_back(key_head);
      value_heads_[key_head].push_back(head);
    }
  }

  void BindProjections() {
    if (binder_.Has(block_ + "ssm_in.weight")) return BindFusedProjections();
    net_.inputs.push_back({binder_.Matrix(block_ + "attn_qkv", width(), net_.num_channels()), 0});
    net_.inputs.push_back({binder_.Matrix(block_ + "attn_gate", width(), net_.output_width()),
                           net_.output_gate_at()});
  }

  // Of each key head: its query, its key, the values of its value heads and their output gates.
  void BindFusedProjections() {
    const Linear all =
        binder_.Matrix(block_ + "ssm_in", width(), net_.num_channels() + net_.output_width());
    const int64_t size = net_.head_size;
    int64_t row = 0;
    const auto add = [&](int64_t at) {
      net_.inputs.push_back({TensorBinder::Rows(all, row, size), at});
      row += size;
    };
    for (int key_head = 0; key_head < net_.num_key_heads; ++key_head) {
      add(key_head * size);
      add(net_.key_at() + key_head * size);
      for (const int head : value_heads_[key_head]) add(net_.value_at() + head * size);
      for (const int head : value_heads_[key_head]) add(net_.output_gate_at() + head * size);
    }
  }

  void BindGates() {
    const int64_t at = net_.output_gate_at() + net_.output_width();
    const int64_t num_heads = net_.num_value_heads;
    net_.beta_at.resize(num_heads);
    net_.alpha_at.resize(num_heads);
    if (!binder_.Has(block_ + "ssm_ba.weight")) {
      net_.inputs.push_back({binder_.Matrix(block_ + "ssm_beta", width(), num_heads), at});
      net_.inputs.push_back(
          {binder_.Matrix(block_ + "ssm_alpha", width(), num_heads), at + num_heads});
      for (int64_t head = 0; head < num_heads; ++head) {
        net_.beta_at[head] = at + head;
        net_.alpha_at[head] = at + num_heads + head;
      }
      return;
    }
    // Of each key head: the betas of its value heads, then their alphas.
    net_.inputs.push_back({binder_.Matrix(block_ + "ssm_ba", width(), 2 * num_heads), at});
    for (int64_t key_head = 0; key_head < net_.num_key_heads; ++key_head) {
      int64_t next = at + key_head * 2 * values_per_key();
      for (const int head : value_heads_[key_head]) net_.beta_at[head] = next++;
      for (const int head : value_heads_[key_head]) net_.alpha_at[head] = next++;
    }
  }

  const ModelConfig& config_;
  const std::string block_;
  TensorBinder& binder_;
  GatedDeltaNet net_;
  std::vector<std::vector<int>> value_heads_;  // By key head.
};

}  // namespace

bool IsDeltaNet(const ModelConfig& config, int layer) {
  const RecurrentConfig& recurrent = config.recurrent;
  if (recurrent.ssm_state_size == 0 || layer >= config.trunk_layers()) return false;
  const std::vector<int64_t>& layers = recurrent.recurrent_layers;
  if (!layers.empty()) return layer < static_cast<int>(layers.size()) && layers[layer] != 0;
  const int64_t interval =
      recurrent.full_attention_interval > 0 ? recurrent.full_attention_interval : kUsualInterval;
  return (layer + 1) % interval != 0;
}

GatedDeltaNet BindDeltaNet(const ModelConfig& config, const ModelFamily& family, int layer,
                           TensorBinder& binder) {
  if (!CheckHeads(config.recurrent, layer, binder)) return {};
  GatedDeltaNet net = DeltaNetBinder(config, layer, binder).Bind(family.tiles_value_heads);
  if (family.gates_delta_net_by_sigmoid) net.gate_activation = GatedActivation::kSigmoid;
  return net;
}

}  // namespace strata
