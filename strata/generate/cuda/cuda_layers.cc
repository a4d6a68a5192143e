#include "strata/generate/cuda/cuda_layers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/tier/landing.h"
#include "strata/core/block_type.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/status_macros.h"
#include "strata/generate/cuda/device_weights.h"
#include "strata/generate/cuda/step_memory.h"
#include "strata/generate/kernels/cuda/attend_rows.h"
#include "strata/generate/kernels/cuda/begin_step.h"
#include "strata/generate/kernels/cuda/dense_product.h"
#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/draw_tokens.h"
#include "strata/generate/kernels/cuda/expert_sum.h"
#include "strata/generate/kernels/cuda/fetch_misses.h"
#include "strata/generate/kernels/cuda/gated_product.h"
#include "strata/generate/kernels/cuda/landing_places.h"
#include "strata/generate/kernels/cuda/mail_misses.h"
#include "strata/generate/kernels/cuda/norm_rows.h"
#include "strata/generate/kernels/cuda/norm_task.h"
#include "strata/generate/kernels/cuda/one_row_launch.h"
#include "strata/generate/kernels/cuda/prepare_heads.h"
#include "strata/generate/kernels/cuda/route_rows.h"
#include "strata/generate/kernels/cuda/step_fault.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

absl::Status CheckMissesCanBeMailed(const ModelGraph& graph) {
  for (const Layer& layer : graph.layers) {
    const MixtureOfExperts* const experts = ExpertsOf(layer);
    if (experts == nullptr) continue;
    const ExpertLinears& down = experts->down;
    if (graph.width % 4 == 0 && TakesNorm(experts->gate.type, graph.width, 1) &&
        TakesValues(down.type, down.columns, 1, experts->routing.num_chosen)) {
      continue;
    }
    return absl::UnimplementedError(
        absl::StrCat("--miss=cpu: no kernels leave out experts such as those of ", down.name));
  }
  return absl::OkStatus();
}

CudaLayers::CudaLayers(const Collaborators& with)
    : CudaOperations(with.memory.fault), with_(with), memory_(with.memory) {}

void CudaLayers::Begin(const StepShape& shape, std::vector<std::string> fault_texts) {
  shape_ = shape;
  moe_layer_ = 0;
  fault_texts_ = std::move(fault_texts);
}

absl::Status CudaLayers::Embed(const ModelGraph& /*graph*/) {
  return BeginStep({.num_rows = shape_.rows,
                    .layout = with_.layout,
                    .block = with_.block,
                    .embedding = with_.embedding,
                    .drawn = memory_.drawn,
                    .step = memory_.step,
                    .rotary = memory_.rotary,
                    .page_table = memory_.page_table,
                    .expert_table = const_cast<std::byte*>(with_.expert_table),
                    .landings = memory_.landings,
                    .landed = reinterpret_cast<DeviceLandingCount*>(memory_.landed),
                    .fault_word = memory_.fault,
                    .x = memory_.x},
                   with_.stream);
}

NormTask CudaLayers::NormBefore(const Residual& residual, DeviceActivations out,
                                FaultReport fault) const {
  return {.num_rows = shape_.rows,
          .x = memory_.x,
          .weight = with_.weights.Vector(residual.norm_before),
          .epsilon = with_.graph.norm_epsilon,
          .out = out,
          .fault = fault};
}

float* CudaLayers::PartOutput(const Residual& residual) const {
  return residual.norm_after.empty() ? memory_.x : memory_.part;
}

const float* CudaLayers::PartResidual(const Residual& residual) const {
  return residual.norm_after.empty() ? memory_.x : nullptr;
}

absl::Status CudaLayers::LeavePart(const Residual& residual) {
  if (residual.norm_after.empty()) return absl::OkStatus();
  return NormRows({.num_rows = shape_.rows,
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

absl::Status CudaLayers::Mix(int layer, const Residual& residual, const SelfAttention& attention) {
  const BlockType types[] = {attention.query.weights.type, attention.key.weights.type,
                             attention.value.weights.type};
  const DeviceActivations normed = VectorsFor(memory_.normed, with_.graph.width, types);
  DenseProduct project = {.rows = shape_.rows, .x = normed, .num_outputs = 3};
  RETURN_IF_ERROR(
      NormFor(types, NormBefore(residual, normed, InputOf(attention.query.name)), project.norm));
  const auto output = [&](const Linear& linear, float* y) -> DenseOutput {
    return {.matrix = with_.weights.Matrix(linear), .y = y, .fault = ProductOf(linear.name)};
  };
  project.outputs[0] = output(attention.query, memory_.query);
  project.outputs[1] = output(attention.key, memory_.key);
  project.outputs[2] = output(attention.value, memory_.value);
  RETURN_IF_ERROR(LaunchDenseProduct(project, with_.stream));
  RETURN_IF_ERROR(Attend(layer, attention));
  DenseProduct out = {.rows = shape_.rows,
                      .x = VectorsFor(memory_.attended, attention.output.weights.columns,
                                      {attention.output.weights.type}),
                      .num_outputs = 1};
  out.outputs[0] = output(attention.output, PartOutput(residual));
  out.outputs[0].residual = PartResidual(residual);
  out.outputs[0].residual_scale = residual.scale;
  RETURN_IF_ERROR(LaunchDenseProduct(out, with_.stream));
  return LeavePart(residual);
}

PrepareTask CudaLayers::PrepareTaskOf(int layer, const SelfAttention& attention) {
  const KvLayer& kv = with_.kv.layer(layer);
  DeviceRotation rotation;
  if (attention.rotation != SelfAttention::kNoRotation) {
    const Rotation& from = with_.graph.rotations[static_cast<size_t>(attention.rotation)];
    rotation = {.pairing = from.pairing,
                .num_dims = from.angles.num_dims,
                .angles = memory_.rotary + with_.layout.rotation_offset(attention.rotation)};
  }
  const bool over_all_heads = attention.norm_scope == NormScope::kAllHeads;
  const int64_t num_kv = attention.num_kv_heads;
  return {.num_rows = shape_.rows,
          .num_heads = attention.num_heads,
          .kv = kv,
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
          .step = memory_.step,
          .page_table = memory_.page_table,
          .fault = Report(
              absl::StrCat("a key or a value of ", attention.key.name, " for the KV cache"))};
}

absl::Status CudaLayers::Attend(int layer, const SelfAttention& attention) {
  AttendTask task = {.num_rows = shape_.rows,
                     .num_heads = attention.num_heads,
                     .kv = with_.kv.layer(layer),
                     .scale = attention.scale,
                     .window = attention.window,
                     .sinks = with_.weights.Vector(attention.sinks),
                     .step = memory_.step,
                     .page_table = memory_.page_table,
                     .partials = memory_.partials,
                     .tickets = memory_.attention_tickets,
                     // What is right before stores no more than keys and values of this step.
                     .begins_early = true,
                     .out = VectorsFor(memory_.attended, attention.output.weights.columns,
                                       {attention.output.weights.type}),
                     .fault = InputOf(attention.output.name)};
  PrepareTask prepare = PrepareTaskOf(layer, attention);
  if (PreparesHeads(shape_.rows, task.kv)) {
    task.prepare = prepare;
  } else {
    prepare.queries = memory_.queries;
    RETURN_IF_ERROR(PrepareHeads(prepare, with_.stream));
    task.queries = memory_.queries;
  }
  return AttendRows(task, with_.stream);
}

DeviceActivations CudaLayers::HiddenFor(const DeviceActivations& memory, int64_t size,
                                        BlockType type, int num_vectors) const {
  if (!TakesValues(type, size, shape_.rows, num_vectors)) return VectorsFor(memory, size, {type});
  return {.size = size, .values = memory.values};
}

absl::Status CudaLayers::NormFor(absl::Span<const BlockType> types, const NormTask& norm,
                                 NormTask& made_by_product) const {
  const bool is_taken = std::all_of(types.begin(), types.end(), [&](BlockType type) {
    return TakesNorm(type, norm.out.size, shape_.rows);
  });
  if (!is_taken) return NormRows(norm, with_.stream);
  made_by_product = norm;
  return absl::OkStatus();
}

absl::Status CudaLayers::RunGated(const FeedForward& part, const NormTask& norm,
                                  const DeviceActivations& hidden, uint32_t* tickets) {
  const DeviceActivations x =
      VectorsFor(memory_.normed, with_.graph.width, {part.gate.weights.type, part.up.weights.type});
  return LaunchGatedDense({.rows = shape_.rows,
                           .x = x,
                           .norm = norm,
                           .gate = with_.weights.Matrix(part.gate),
                           .up = with_.weights.Matrix(part.up),
                           .activation = part.activation,
                           .hidden = {.vectors = hidden, .tickets = tickets},
                           .faults = {.gate = ProductOf(part.gate.name),
                                      .up = ProductOf(part.up.name),
                                      .hidden = InputOf(part.down.name)}},
                          with_.stream);
}

absl::Status CudaLayers::Feed(int /*layer*/, const Residual& residual, const FeedForward& dense) {
  const BlockType types[] = {dense.gate.weights.type, dense.up.weights.type};
  const DeviceActivations normed = VectorsFor(memory_.normed, with_.graph.width, types);
  NormTask norm;
  RETURN_IF_ERROR(NormFor(types, NormBefore(residual, normed, InputOf(dense.gate.name)), norm));
  const DeviceActivations hidden =
      HiddenFor(memory_.hidden, dense.down.weights.columns, dense.down.weights.type, 1);
  RETURN_IF_ERROR(RunGated(dense, norm, hidden, memory_.hidden_tickets));
  DenseProduct down = {.rows = shape_.rows, .x = hidden, .num_outputs = 1};
  down.outputs[0] = {.matrix = with_.weights.Matrix(dense.down),
                     .y = PartOutput(residual),
                     .residual = PartResidual(residual),
                     .residual_scale = residual.scale,
                     .fault = ProductOf(dense.down.name)};
  RETURN_IF_ERROR(LaunchDenseProduct(down, with_.stream));
  return LeavePart(residual);
}

DeviceRouting CudaLayers::RoutingOfLayer(const MixtureOfExperts& experts) const {
  return {.num_experts = experts.routing.num_experts,
          .num_chosen = experts.routing.num_chosen,
          .experts = memory_.chosen + moe_layer_ * NumChoices(with_.graph, shape_.rows),
          .weights = memory_.chosen_weights};
}

absl::Status CudaLayers::Route(const Residual& residual, const MixtureOfExperts& experts) {
  RouteTask task = {
      .norm =
          NormBefore(residual, VectorsFor(memory_.normed, with_.graph.width, InputTypesOf(experts)),
                     InputOf(experts.router.name)),
      .router = RouterOf(experts, with_.weights),
      .logits = memory_.router_logits,
      .tickets = memory_.router_tickets,
      .experts = memory_.chosen + moe_layer_ * NumChoices(with_.graph, shape_.rows),
      .weights = memory_.chosen_weights,
      .fault = ProductOf(experts.router.name)};
  return RouteRows(task, with_.stream);
}

const DeviceExpert* CudaLayers::TableOfLayer() const {
  return reinterpret_cast<const DeviceExpert*>(with_.expert_table) +
         int64_t{moe_layer_} * with_.graph.experts.num_experts();
}

absl::Status CudaLayers::Fetch(int layer, const DeviceRouting& routing) {
  FetchTask task = {.rows = shape_.rows,
                    .routing = routing,
                    .experts = TableOfLayer(),
                    .found = memory_.found,
                    .memory = with_.fetch_memory.data(),
                    .memory_bytes = std::ssize(with_.fetch_memory),
                    .leaves_rest = shape_.mails_misses,
                    .layer = moe_layer_};
  for (const ExpertSlice& slice : with_.graph.experts.Slices({.layer = layer, .index = 0})) {
    task.part_bytes[task.num_parts++] = slice.bytes;
  }
  if (MayLand()) {
    task.head = reinterpret_cast<const DeviceLandingHead*>(memory_.landings);
    task.num_groups = with_.layout.max_landing_groups;
    task.groups = reinterpret_cast<DeviceLandingGroup*>(memory_.landings +
                                                        StepBlockLayout::landing_groups_offset());
    task.offers =
        reinterpret_cast<const LandingOffer*>(memory_.landings + with_.layout.offers_offset());
    task.count = reinterpret_cast<DeviceLandingCount*>(memory_.landed);
    task.landings = reinterpret_cast<Landing*>(task.count + 1);
  }
  return FetchMisses(task, with_.stream);
}

absl::Status CudaLayers::Post(const DeviceRouting& routing, const DeviceExpert* table) {
  if (!shape_.mails_misses) return absl::OkStatus();
  PostTask task = {
      .mail = with_.mail, .routing = routing, .experts = table, .is_first = moe_layer_ == 0};
  if (BringsMisses()) {
    const auto& offsets = with_.part_offsets[static_cast<size_t>(moe_layer_)];
    std::copy(offsets.begin(), offsets.end(), task.part_offsets);
  } else {
    task.x = memory_.normed.values;
  }
  return PostMisses(task, with_.stream);
}

absl::Status CudaLayers::Await() {
  if (!shape_.mails_misses) return absl::OkStatus();
  return AwaitMisses({.mail = with_.mail}, with_.stream);
}

absl::Status CudaLayers::RunShared(const MixtureOfExperts& experts) {
  const FeedForward& shared = *experts.shared;
  const DeviceActivations hidden =
      HiddenFor(memory_.shared_hidden, shared.down.weights.columns, shared.down.weights.type, 1);
  RETURN_IF_ERROR(RunGated(shared, {}, hidden, memory_.shared_tickets));
  DenseProduct down = {.rows = shape_.rows, .x = hidden, .num_outputs = 1};
  down.outputs[0] = {.matrix = with_.weights.Matrix(shared.down),
                     .y = memory_.shared,
                     .fault = ProductOf(shared.down.name)};
  RETURN_IF_ERROR(LaunchDenseProduct(down, with_.stream));
  if (!experts.shared_gate.has_value()) return absl::OkStatus();
  DenseProduct gate = {
      .rows = shape_.rows,
      .x = VectorsFor(memory_.normed, with_.graph.width, {experts.shared_gate->weights.type}),
      .num_outputs = 1};
  gate.outputs[0] = {.matrix = with_.weights.Matrix(*experts.shared_gate),
                     .y = memory_.shared_gate,
                     .fault = ProductOf(experts.shared_gate->name)};
  return LaunchDenseProduct(gate, with_.stream);
}

absl::Status CudaLayers::Feed(int layer, const Residual& residual,
                              const MixtureOfExperts& experts) {
  CHECK_EQ(layer, with_.graph.experts.layers()[static_cast<size_t>(moe_layer_)]);
  RETURN_IF_ERROR(Route(residual, experts));
  const DeviceRouting routing = RoutingOfLayer(experts);
  if (FetchesMisses()) RETURN_IF_ERROR(Fetch(layer, routing));
  const DeviceExpert* table = FetchesMisses() ? memory_.found : TableOfLayer();
  RETURN_IF_ERROR(Post(routing, table));
  if (BringsMisses()) {
    RETURN_IF_ERROR(Await());
    table = with_.mail.staged_table;
  }
  const float* const mailed = shape_.mails_misses && !BringsMisses() ? with_.mail.by_rank : nullptr;
  const DeviceActivations hidden =
      HiddenFor(memory_.hidden, experts.down.columns, experts.down.type, routing.num_chosen);
  RETURN_IF_ERROR(LaunchGatedExperts(
      {.rows = shape_.rows,
       .x = VectorsFor(memory_.normed, with_.graph.width, {experts.gate.type, experts.up.type}),
       .routing = routing,
       .experts = table,
       .mailed = mailed,
       .gate = with_.weights.Experts(experts.gate),
       .up = with_.weights.Experts(experts.up),
       .activation = experts.activation,
       .hidden = {.vectors = hidden, .tickets = memory_.hidden_tickets},
       .faults = {.gate = ProductOf(experts.gate.name),
                  .up = ProductOf(experts.up.name),
                  .hidden = InputOf(experts.down.name)}},
      with_.stream));
  if (experts.shared.has_value()) RETURN_IF_ERROR(RunShared(experts));
  if (!BringsMisses()) RETURN_IF_ERROR(Await());
  RETURN_IF_ERROR(LaunchExpertSum(
      {.rows = shape_.rows,
       .hidden = hidden,
       .routing = routing,
       .experts = table,
       .mailed = mailed,
       .down = with_.weights.Experts(experts.down),
       // Gate and up, or the wait for the host, were right before; the choice is older.
       .early_choice = true,
       .fault = ProductOf(experts.down.name),
       .shared = experts.shared.has_value() ? memory_.shared : nullptr,
       .shared_gate = experts.shared_gate.has_value() ? memory_.shared_gate : nullptr,
       .y = PartOutput(residual),
       .residual = PartResidual(residual),
       .residual_scale = residual.scale},
      with_.stream));
  ++moe_layer_;
  return LeavePart(residual);
}

absl::Status CudaLayers::Output(const ModelGraph& graph) {
  NormTask norm = {.num_rows = shape_.rows,
                   .x = memory_.x,
                   .weight = with_.weights.Vector(graph.output_norm),
                   .epsilon = graph.norm_epsilon,
                   .fault = InputOf(graph.output.name)};
  if (shape_.wants_hidden) {
    norm.out = {.size = graph.width, .values = memory_.hidden_states};
    RETURN_IF_ERROR(NormRows(norm, with_.stream));
  }
  if (shape_.wanted > 0) {
    norm.num_rows = shape_.wanted;
    norm.gather = memory_.step;
    norm.out = VectorsFor(memory_.output, graph.width, {graph.output.weights.type});
    RETURN_IF_ERROR(NormRows(norm, with_.stream));
    DenseProduct logits = {.rows = shape_.wanted, .x = norm.out, .num_outputs = 1};
    logits.outputs[0] = {.matrix = with_.weights.Matrix(graph.output),
                         .y = memory_.logits,
                         .fault = ProductOf(graph.output.name)};
    RETURN_IF_ERROR(LaunchDenseProduct(logits, with_.stream));
  }
  DrawTask draw = {.max_wanted = shape_.wanted,
                   .vocabulary = graph.vocabulary,
                   .logit_scale = graph.logit_scale,
                   .logits = memory_.logits,
                   .host_logits = shape_.copies_logits ? with_.outputs.logits : nullptr,
                   .step = memory_.step,
                   .best = memory_.best,
                   .ticket = memory_.draw_ticket,
                   .drawn = memory_.drawn,
                   .result = with_.outputs.result,
                   .fault = ProductOf(graph.output.name)};
  if (!graph.experts.empty() && with_.outputs.choices != nullptr) {
    draw.copies[0] = {.from = reinterpret_cast<const std::byte*>(memory_.chosen),
                      .to = with_.outputs.choices,
                      .bytes = ChoicesBytes(graph, shape_.rows)};
  }
  if (MayLand()) {
    draw.copies[2] = {
        .from = memory_.landed, .to = with_.outputs.landed, .bytes = LandedBytes(with_.layout)};
  }
  if (shape_.wants_hidden) {
    draw.copies[1] = {.from = reinterpret_cast<const std::byte*>(memory_.hidden_states),
                      .to = reinterpret_cast<std::byte*>(with_.outputs.hidden_states),
                      .bytes = (shape_.rows * graph.width * int64_t{sizeof(float)} + 15) / 16 * 16};
  }
  return DrawTokens(draw, with_.stream);
}

}  // namespace strata
