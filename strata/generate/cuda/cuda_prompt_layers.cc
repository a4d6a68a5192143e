#include "strata/generate/cuda/cuda_prompt_layers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "cuda_runtime_api.h"
#include "glog/logging.h"
#include "strata/core/block_type.h"
#include "strata/core/cuda_status.h"
#include "strata/core/device_loan.h"
#include "strata/core/status_macros.h"
#include "strata/generate/cuda/cuda_layers.h"
#include "strata/generate/cuda/cuda_support.h"
#include "strata/generate/cuda/device_weights.h"
#include "strata/generate/cuda/launch_pace.h"
#include "strata/generate/cuda/step_memory.h"
#include "strata/generate/kernels/cuda/begin_step.h"
#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/fetch_experts.h"
#include "strata/generate/kernels/cuda/prepare_heads.h"
#include "strata/generate/kernels/cuda/prompt_attend.h"
#include "strata/generate/kernels/cuda/prompt_feed_forward.h"
#include "strata/generate/kernels/cuda/prompt_group.h"
#include "strata/generate/kernels/cuda/prompt_layers.h"
#include "strata/generate/kernels/cuda/prompt_product.h"
#include "strata/generate/kernels/cuda/step_fault.h"
#include "strata/generate/model/model_graph.h"

namespace strata {
namespace {

// What kernels take: prompt_attend.h, prompt_layers.h, prompt_feed_forward.h.
constexpr int kMaxPromptHeadSize = 256;
constexpr int64_t kSizeStep = 8;
constexpr int kOldestPromptCapability = 90;

absl::Status CheckGated(BlockType gate, BlockType up) {
  if (gate == up) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat("gate and up of prompts have types ",
                                               InfoOf(gate).name, " and ", InfoOf(up).name));
}

struct FeedForwardCheck {
  absl::Status operator()(const FeedForward& dense) const {
    return CheckGated(dense.gate.weights.type, dense.up.weights.type);
  }
  absl::Status operator()(const MixtureOfExperts& experts) const {
    RETURN_IF_ERROR(CheckGated(experts.gate.type, experts.up.type));
    return experts.shared.has_value() ? (*this)(*experts.shared) : absl::OkStatus();
  }
};

}  // namespace

absl::Status CheckPromptKernelsRun(const ModelGraph& graph, int compute_capability) {
  if (compute_capability < kOldestPromptCapability) {
    return absl::UnimplementedError("the kernels of prompts need compute capability 9.0");
  }
  if (graph.width % kSizeStep != 0) {
    return absl::UnimplementedError(absl::StrCat("prompts of width ", graph.width));
  }
  for (const Layer& layer : graph.layers) {
    const SelfAttention& attention = AttentionOf(layer);
    const int size = std::max(attention.key_size, attention.value_size);
    if (size > kMaxPromptHeadSize) {
      return absl::UnimplementedError(absl::StrCat("prompts over heads of ", size, " values"));
    }
    RETURN_IF_ERROR(std::visit(FeedForwardCheck(), layer.feed_forward));
  }
  return absl::OkStatus();
}

CudaPromptLayers::CudaPromptLayers(const Collaborators& with)
    : CudaOperations(with.memory.fault),
      with_(with),
      memory_(with.step.memory()),
      pace_(with.device, with.launches) {}

void CudaPromptLayers::Begin(const StepShape& shape, const std::function<bool()>* should_stop,
                             LayerStream* experts) {
  should_stop_ = should_stop;
  layer_stream_ = experts;
  shape_ = shape;
  rows_ = with_.step.num_rows();
  runs_ = with_.step.Runs();
  moe_layer_ = 0;
  pace_.Begin();
  fault_texts_.clear();
  CHECK_LE(shape.wanted, kMaxRows);
  CHECK(!shape.wants_hidden || rows_ <= kMaxRows);
}

CudaPromptLayers::Block CudaPromptLayers::BlockOf(int index, int wanted_before) const {
  const DeviceStep& step = with_.step.block(index);
  Block block = {.memory = with_.memory, .outputs = with_.outputs, .shape = shape_};
  block.memory.step = memory_.steps + index;
  block.memory.x = memory_.x + int64_t{index} * kMaxRows * with_.graph.width;
  const int64_t logits_before = wanted_before * with_.graph.vocabulary;
  block.memory.logits += logits_before;
  block.outputs.logits += logits_before;
  block.outputs.result = &with_.step.result(index);
  block.outputs.choices = nullptr;
  block.outputs.landed = nullptr;
  block.shape.rows = step.num_rows;
  block.shape.wanted = step.num_wanted;
  return block;
}

CudaLayers CudaPromptLayers::LayersOf(int index, const Block& block) const {
  return CudaLayers({.graph = with_.graph,
                     .weights = with_.weights,
                     .kv = with_.kv,
                     .memory = block.memory,
                     .outputs = block.outputs,
                     .embedding = with_.embedding,
                     .layout = with_.step.block_layout(),
                     .block = with_.step.block_memory(index),
                     .expert_table = with_.expert_table,
                     .stream = with_.stream});
}

absl::Status CudaPromptLayers::Embed(const ModelGraph& graph) {
  RETURN_IF_ERROR(BeginStep({.num_rows = rows_,
                             .layout = with_.step.block_layout(),
                             .block = with_.step.block_memory(0),
                             .embedding = with_.embedding,
                             .drawn = with_.memory.drawn,
                             .step = memory_.steps,
                             .rotary = with_.memory.rotary,
                             .page_table = with_.memory.page_table,
                             .fault_word = with_.memory.fault,
                             .x = memory_.x},
                            with_.stream));
  for (int rotation = 0; rotation < static_cast<int>(graph.rotations.size()); ++rotation) {
    const absl::Span<const float> angles = with_.step.pinned_angles(rotation);
    RETURN_IF_ERROR(CudaStatus(
        cudaMemcpyAsync(with_.step.device_angles(rotation), angles.data(),
                        angles.size() * sizeof(float), cudaMemcpyHostToDevice, with_.stream.stream),
        "the angles of a prompt"));
  }
  return absl::OkStatus();
}

absl::Status CudaPromptLayers::Norm(const Residual& residual, DeviceActivations out,
                                    FaultReport fault) {
  return NormPromptRows({.num_rows = rows_,
                         .x = memory_.x,
                         .weight = with_.weights.Vector(residual.norm_before),
                         .epsilon = with_.graph.norm_epsilon,
                         .out = out,
                         .fault = fault},
                        with_.stream);
}

float* CudaPromptLayers::PartOutput(const Residual& residual) const {
  return residual.norm_after.empty() ? memory_.x : memory_.part;
}

const float* CudaPromptLayers::PartResidual(const Residual& residual) const {
  return residual.norm_after.empty() ? memory_.x : nullptr;
}

absl::Status CudaPromptLayers::LeavePart(const Residual& residual) {
  if (residual.norm_after.empty()) return absl::OkStatus();
  return NormPromptRows({.num_rows = rows_,
                         .x = memory_.x,
                         .residual = {.part = memory_.part,
                                      .norm_after = with_.weights.Vector(residual.norm_after),
                                      .scale = residual.scale,
                                      .sum = memory_.x},
                         .epsilon = with_.graph.norm_epsilon,
                         .out = {.size = with_.graph.width},
                         .fault = Report("the state after a part of a layer")},
                        with_.stream);
}

absl::Status CudaPromptLayers::Product(const DeviceActivations& x, const Linear& linear, float* y) {
  PromptProduct product = {.rows = rows_, .x = x, .num_outputs = 1};
  product.outputs[0] = {
      .matrix = with_.weights.Matrix(linear), .y = y, .fault = ProductOf(linear.name)};
  return LaunchPromptProduct(product, with_.stream);
}

absl::Status CudaPromptLayers::PartProduct(const DeviceActivations& x, const Linear& linear,
                                           const Residual& residual) {
  PromptProduct product = {.rows = rows_, .x = x, .num_outputs = 1};
  product.outputs[0] = {.matrix = with_.weights.Matrix(linear),
                        .y = PartOutput(residual),
                        .residual = PartResidual(residual),
                        .residual_scale = residual.scale,
                        .fault = ProductOf(linear.name)};
  RETURN_IF_ERROR(LaunchPromptProduct(product, with_.stream));
  return LeavePart(residual);
}

absl::Status CudaPromptLayers::Mix(int layer, const Residual& residual,
                                   const SelfAttention& attention) {
  const DeviceActivations normed = VectorsFor(
      memory_.normed, with_.graph.width,
      {attention.query.weights.type, attention.key.weights.type, attention.value.weights.type});
  RETURN_IF_ERROR(Norm(residual, normed, InputOf(attention.query.name)));
  PromptProduct project = {.rows = rows_, .x = normed, .num_outputs = 3};
  const auto output = [&](const Linear& linear, float* y) -> PromptOutput {
    return {.matrix = with_.weights.Matrix(linear), .y = y, .fault = ProductOf(linear.name)};
  };
  project.outputs[0] = output(attention.query, memory_.query);
  project.outputs[1] = output(attention.key, memory_.key);
  project.outputs[2] = output(attention.value, memory_.value);
  RETURN_IF_ERROR(LaunchPromptProduct(project, with_.stream));
  RETURN_IF_ERROR(Prepare(layer, attention));
  RETURN_IF_ERROR(Attend(layer, attention));
  return PartProduct(VectorsFor(memory_.attended, attention.output.weights.columns,
                                {attention.output.weights.type}),
                     attention.output, residual);
}

absl::Status CudaPromptLayers::Prepare(int layer, const SelfAttention& attention) {
  DeviceRotation rotation;
  if (attention.rotation != SelfAttention::kNoRotation) {
    const Rotation& from = with_.graph.rotations[static_cast<size_t>(attention.rotation)];
    rotation = {.pairing = from.pairing,
                .num_dims = from.angles.num_dims,
                .angles = with_.step.device_angles(attention.rotation)};
  }
  const bool over_all_heads = attention.norm_scope == NormScope::kAllHeads;
  const int64_t num_kv = attention.num_kv_heads;
  return PreparePromptHeads(
      {.runs = runs_,
       .num_heads = attention.num_heads,
       .kv = with_.kv.layer(layer),
       .query = {.values = memory_.query,
                 .stride = int64_t{attention.num_heads} * attention.key_size},
       .key = {.values = memory_.key, .stride = num_kv * attention.key_size},
       .value = {.values = memory_.value, .stride = num_kv * attention.value_size},
       .query_norm = {.weight = with_.weights.Vector(attention.query_norm),
                      .over_all_heads = over_all_heads},
       .key_norm = {.weight = with_.weights.Vector(attention.key_norm),
                    .over_all_heads = over_all_heads},
       .epsilon = with_.graph.norm_epsilon,
       .rotation = rotation,
       .page_table = with_.memory.page_table,
       .queries = memory_.queries,
       .fault =
           Report(absl::StrCat("a key or a value of ", attention.key.name, " for the KV cache"))},
      with_.stream);
}

absl::Status CudaPromptLayers::Attend(int layer, const SelfAttention& attention) {
  return AttendPromptRows({.runs = runs_,
                           .num_heads = attention.num_heads,
                           .kv = with_.kv.layer(layer),
                           .scale = attention.scale,
                           .window = attention.window,
                           .sinks = with_.weights.Vector(attention.sinks),
                           .page_table = with_.memory.page_table,
                           .queries = memory_.queries,
                           .out = VectorsFor(memory_.attended, attention.output.weights.columns,
                                             {attention.output.weights.type}),
                           .fault = InputOf(attention.output.name)},
                          with_.stream);
}

absl::Status CudaPromptLayers::RunGated(const FeedForward& part, const DeviceActivations& hidden) {
  const DeviceActivations x =
      VectorsFor(memory_.normed, with_.graph.width, {part.gate.weights.type, part.up.weights.type});
  return LaunchPromptGatedDense({.rows = rows_,
                                 .x = x,
                                 .gate = with_.weights.Matrix(part.gate),
                                 .up = with_.weights.Matrix(part.up),
                                 .activation = part.activation,
                                 .hidden = hidden,
                                 .faults = {.gate = ProductOf(part.gate.name),
                                            .up = ProductOf(part.up.name),
                                            .hidden = InputOf(part.down.name)}},
                                with_.stream);
}

absl::Status CudaPromptLayers::Feed(int /*layer*/, const Residual& residual,
                                    const FeedForward& dense) {
  const DeviceActivations normed = VectorsFor(memory_.normed, with_.graph.width,
                                              {dense.gate.weights.type, dense.up.weights.type});
  RETURN_IF_ERROR(Norm(residual, normed, InputOf(dense.gate.name)));
  const DeviceActivations hidden =
      VectorsFor(memory_.hidden, dense.down.weights.columns, {dense.down.weights.type});
  RETURN_IF_ERROR(RunGated(dense, hidden));
  return PartProduct(hidden, dense.down, residual);
}

int32_t* CudaPromptLayers::ChosenOfLayer() const {
  return memory_.chosen + moe_layer_ * NumChoices(with_.graph, rows_);
}

absl::Status CudaPromptLayers::Route(const Residual& residual, const MixtureOfExperts& experts) {
  const DeviceActivations normed =
      VectorsFor(memory_.normed, with_.graph.width, InputTypesOf(experts));
  RETURN_IF_ERROR(Norm(residual, normed, InputOf(experts.router.name)));
  return RoutePromptRows({.num_rows = rows_,
                          .x = normed,
                          .router = RouterOf(experts, with_.weights),
                          .logits = memory_.router_logits,
                          .experts = ChosenOfLayer(),
                          .weights = memory_.chosen_weights,
                          .fault = ProductOf(experts.router.name)},
                         with_.stream);
}

absl::Status CudaPromptLayers::RunShared(const MixtureOfExperts& experts) {
  const FeedForward& shared = *experts.shared;
  const DeviceActivations hidden =
      VectorsFor(memory_.shared_hidden, shared.down.weights.columns, {shared.down.weights.type});
  RETURN_IF_ERROR(RunGated(shared, hidden));
  RETURN_IF_ERROR(Product(hidden, shared.down, memory_.shared));
  if (!experts.shared_gate.has_value()) return absl::OkStatus();
  return Product(VectorsFor(memory_.normed, with_.graph.width, {experts.shared_gate->weights.type}),
                 *experts.shared_gate, memory_.shared_gate);
}

absl::Status CudaPromptLayers::BringExperts(ExpertParts parts, const PromptGroups& groups,
                                            const DeviceRouting& routing) {
  if (layer_stream_ == nullptr || layer_stream_->bring() == LayerStream::Bring::kAhead) {
    return absl::OkStatus();
  }
  const absl::Span<const int64_t> part_bytes = layer_stream_->PartBytes(moe_layer_);
  const int down = static_cast<int>(part_bytes.size()) - 1;  // The last part of any blob.
  ExpertFetch fetch = {.from = TableOfLayer(with_.expert_table, routing),
                       .to = TableOfLayer(layer_stream_->table(), routing),
                       .groups = groups,
                       .first_part = parts == ExpertParts::kDown ? down : 0,
                       .num_parts = parts == ExpertParts::kDown ? 1 : down};
  std::copy(part_bytes.begin(), part_bytes.end(), fetch.part_bytes);
  ASSIGN_OR_RETURN(const DeviceStream* copies, layer_stream_->OpenCopies());
  return LaunchExpertFetch(fetch, {.stream = static_cast<cudaStream_t>(copies->handle())});
}

absl::Status CudaPromptLayers::WaitForExperts() {
  const bool by_kernels =
      layer_stream_ != nullptr && layer_stream_->bring() == LayerStream::Bring::kByKernels;
  return by_kernels ? layer_stream_->WaitForCopies() : absl::OkStatus();
}

const DeviceExpert* CudaPromptLayers::TableOfLayer(const std::byte* table,
                                                   const DeviceRouting& routing) const {
  return reinterpret_cast<const DeviceExpert*>(table) + int64_t{moe_layer_} * routing.num_experts;
}

absl::Status CudaPromptLayers::RunExperts(const MixtureOfExperts& experts,
                                          const DeviceRouting& routing) {
  PromptGroups groups = memory_.groups;
  groups.tile_entries = PromptTileEntries(int64_t{rows_} * routing.num_chosen, routing.num_experts);
  RETURN_IF_ERROR(GroupPromptRows(rows_, routing, groups, with_.stream));
  if (layer_stream_ != nullptr) RETURN_IF_ERROR(layer_stream_->BeforeLayer(moe_layer_));
  RETURN_IF_ERROR(BringExperts(ExpertParts::kGateAndUp, groups, routing));
  RETURN_IF_ERROR(WaitForExperts());
  // While gate and up compute.
  RETURN_IF_ERROR(BringExperts(ExpertParts::kDown, groups, routing));
  const DeviceExpert* const table =
      TableOfLayer(layer_stream_ == nullptr ? with_.expert_table : layer_stream_->table(), routing);
  const DeviceActivations hidden =
      VectorsFor(memory_.hidden, experts.down.columns, {experts.down.type});
  RETURN_IF_ERROR(LaunchPromptGatedExperts(
      {.rows = rows_,
       .x = VectorsFor(memory_.normed, with_.graph.width, {experts.gate.type, experts.up.type}),
       .routing = routing,
       .groups = groups,
       .experts = table,
       .gate = with_.weights.Experts(experts.gate),
       .up = with_.weights.Experts(experts.up),
       .activation = experts.activation,
       .hidden = hidden,
       .faults = {.gate = ProductOf(experts.gate.name),
                  .up = ProductOf(experts.up.name),
                  .hidden = InputOf(experts.down.name)}},
      with_.stream));
  RETURN_IF_ERROR(WaitForExperts());
  RETURN_IF_ERROR(LaunchPromptDownExperts({.rows = rows_,
                                           .hidden = hidden,
                                           .routing = routing,
                                           .groups = groups,
                                           .experts = table,
                                           .down = with_.weights.Experts(experts.down),
                                           .out = memory_.down,
                                           .fault = ProductOf(experts.down.name)},
                                          with_.stream));
  return layer_stream_ == nullptr ? absl::OkStatus() : layer_stream_->AfterLayer(moe_layer_);
}

absl::Status CudaPromptLayers::Feed(int layer, const Residual& residual,
                                    const MixtureOfExperts& experts) {
  CHECK_EQ(layer, with_.graph.experts.layers()[static_cast<size_t>(moe_layer_)]);
  RETURN_IF_ERROR(Route(residual, experts));
  const DeviceRouting routing = {.num_experts = experts.routing.num_experts,
                                 .num_chosen = experts.routing.num_chosen,
                                 .experts = ChosenOfLayer(),
                                 .weights = memory_.chosen_weights};
  RETURN_IF_ERROR(RunExperts(experts, routing));
  if (experts.shared.has_value()) RETURN_IF_ERROR(RunShared(experts));
  RETURN_IF_ERROR(LaunchPromptExpertSum(
      {.rows = rows_,
       .size = with_.graph.width,
       .routing = routing,
       .out = memory_.down,
       .shared = experts.shared.has_value() ? memory_.shared : nullptr,
       .shared_gate = experts.shared_gate.has_value() ? memory_.shared_gate : nullptr,
       .y = PartOutput(residual),
       .residual = PartResidual(residual),
       .residual_scale = residual.scale},
      with_.stream));
  ++moe_layer_;
  return LeavePart(residual);
}

absl::Status CudaPromptLayers::EndLayer(int /*layer*/) {
  if (should_stop_ == nullptr) return absl::OkStatus();
  RETURN_IF_ERROR(pace_.EndLayer());
  if (!(*should_stop_)()) return absl::OkStatus();
  return absl::CancelledError("the step was asked to stop");
}

absl::Status CudaPromptLayers::Output(const ModelGraph& graph) {
  int wanted_before = 0;
  const int last = with_.step.num_blocks() - 1;
  for (int i = 0; i <= last; ++i) {
    const Block block = BlockOf(i, wanted_before);
    wanted_before += block.shape.wanted;
    // The last one says what went wrong before.
    if (block.shape.wanted == 0 && i < last) continue;
    CudaLayers layers = LayersOf(i, block);
    layers.Begin(block.shape, std::move(fault_texts_));
    RETURN_IF_ERROR(layers.Output(graph));
    fault_texts_ = layers.fault_texts();
  }
  if (graph.experts.empty()) return absl::OkStatus();
  return CudaStatus(cudaMemcpyAsync(with_.step.choices(), memory_.chosen,
                                    static_cast<size_t>(ChoicesBytes(graph, rows_)),
                                    cudaMemcpyDeviceToHost, with_.stream.stream),
                    "the choices of a prompt");
}

void CudaPromptLayers::CollectResults() const {
  DeviceStepResult& all = *with_.outputs.result;
  const int last = with_.step.num_blocks() - 1;
  all.num_drawn = 0;
  for (int i = 0; i <= last; ++i) {
    for (int j = 0; j < with_.step.block(i).num_wanted; ++j) {
      all.drawn[all.num_drawn++] = with_.step.result(i).drawn[j];
    }
  }
  all.fault = with_.step.result(last).fault;
}

}  // namespace strata
