#include "strata/generate/cuda/step_memory.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/tier/landing.h"
#include "strata/core/block_type.h"
#include "strata/generate/blocks/activation_form.h"
#include "strata/generate/cuda/cuda_support.h"
#include "strata/generate/cuda/device_kv.h"
#include "strata/generate/cuda/device_region.h"
#include "strata/generate/kernels/cuda/attend_rows.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/expert_mail.h"
#include "strata/generate/kernels/cuda/gated_product.h"
#include "strata/generate/kernels/cuda/kv_page.h"
#include "strata/generate/kernels/cuda/landing_places.h"
#include "strata/generate/kernels/cuda/prompt_group.h"
#include "strata/generate/kernels/cuda/step_block.h"
#include "strata/generate/model/model_graph.h"

namespace strata {
namespace {

// Of PromptGroups::tile_entries; with it there are the most tiles.
constexpr int kSmallestPromptTile = 64;

int64_t Blocks(int64_t size, int block) { return (size + block - 1) / block; }

// Vectors of at most `size` values, with room for every form: those are small beside what they are
// made from.
DeviceActivations TakeVectors(int64_t count, int64_t size, DeviceRegion& region) {
  DeviceActivations vectors = {.size = size};
  vectors.values = region.Take<float>(count * size);
  const auto take = [&](ActivationForm form, DeviceInt8Rows& rows) {
    rows.q = region.Take<int8_t>(count * size);
    rows.scales = region.Take<float>(count * Blocks(size, BlockSizeOf(form)));
    rows.sums = region.Take<int16_t>(count * Blocks(size, SumSizeOf(form)));
  };
  take(ActivationForm::kA32, vectors.a32);
  take(ActivationForm::kA256, vectors.a256);
  return vectors;
}

// The most that any layer needs in a step of so many rows.
struct Sizes {
  int64_t rows = 0;
  int64_t query = 0, key = 0, value = 0, attended = 0, partials = 0, tickets = 0;
  int64_t num_experts = 0, num_chosen = 0;
  int64_t hidden_vectors = 0, hidden_size = 0;
  int64_t shared_size = 0;

  void Add(const SelfAttention& attention) {
    const int heads = attention.num_heads;
    const KvLayer kv = {.num_heads = attention.num_kv_heads,
                        .key_size = attention.key_size,
                        .value_size = attention.value_size};
    Raise(query, int64_t{heads} * attention.key_size);
    Raise(key, int64_t{attention.num_kv_heads} * attention.key_size);
    Raise(value, int64_t{attention.num_kv_heads} * attention.value_size);
    Raise(attended, int64_t{heads} * attention.value_size);
    Raise(partials, AttentionPartialFloats(kMaxRows, heads, kv));
    Raise(tickets, AttentionTickets(kMaxRows, heads, kv));
  }
  void Add(const FeedForward& dense) {
    Raise(hidden_vectors, rows);
    Raise(hidden_size, dense.gate.weights.rows);
  }
  void Add(const MixtureOfExperts& experts) {
    Raise(num_experts, experts.routing.num_experts);
    Raise(num_chosen, experts.routing.num_chosen);
    Raise(hidden_vectors, rows * experts.routing.num_chosen);
    Raise(hidden_size, experts.gate.rows);
    if (experts.shared.has_value()) Raise(shared_size, experts.shared->gate.weights.rows);
  }

 private:
  static void Raise(int64_t& size, int64_t to) { size = std::max(size, to); }
};

Sizes SizesOf(const ModelGraph& graph, int rows) {
  Sizes sizes = {.rows = rows};
  const auto add = [&sizes](const auto& part) { sizes.Add(part); };
  for (const Layer& layer : graph.layers) {
    sizes.Add(AttentionOf(layer));
    std::visit(add, layer.feed_forward);
  }
  return sizes;
}

}  // namespace

DeviceActivations VectorsFor(const DeviceActivations& memory, int64_t size,
                             absl::Span<const BlockType> weights) {
  CHECK_LE(size, memory.size);
  DeviceActivations vectors = {.size = size, .values = memory.values};
  for (const BlockType type : weights) {
    const std::optional<ActivationForm> form = ActivationFormOf(type);
    CHECK(form.has_value() && size % BlockSizeOf(*form) == 0) << InfoOf(type).name;
    if (*form == ActivationForm::kA32) vectors.a32 = memory.a32;
    if (*form == ActivationForm::kA256) vectors.a256 = memory.a256;
  }
  return vectors;
}

int64_t LandedBytes(const StepBlockLayout& layout) {
  const int64_t bytes =
      int64_t{sizeof(DeviceLandingCount)} + layout.max_offers * int64_t{sizeof(Landing)};
  return (bytes + 15) / 16 * 16;
}

int64_t NumChoices(const ModelGraph& graph, int rows) {
  return int64_t{rows} * graph.experts.num_used();
}

int64_t ChoicesBytes(const ModelGraph& graph, int rows) {
  const int64_t bytes =
      std::ssize(graph.experts.layers()) * NumChoices(graph, rows) * int64_t{sizeof(int32_t)};
  return (bytes + 15) / 16 * 16;
}

PromptMemory LayPromptMemory(const ModelGraph& graph, const StepBlockLayout& layout, int rows,
                             DeviceRegion& region) {
  CHECK_EQ(rows % kMaxRows, 0);
  const Sizes sizes = SizesOf(graph, rows);
  const int64_t width = graph.width;
  PromptMemory memory;
  memory.steps = region.Take<DeviceStep>(rows / kMaxRows);
  memory.rotary = region.Take<float>(layout.rotary_floats() / kMaxRows * rows);
  memory.x = region.Take<float>(rows * width);
  memory.part = region.Take<float>(rows * width);
  memory.normed = TakeVectors(rows, width, region);

  memory.query = region.Take<float>(rows * sizes.query);
  memory.key = region.Take<float>(rows * sizes.key);
  memory.value = region.Take<float>(rows * sizes.value);
  memory.queries = region.Take<float>(rows * sizes.query);
  memory.attended = TakeVectors(rows, sizes.attended, region);

  const int64_t num_entries = rows * sizes.num_chosen;
  memory.router_logits = region.Take<float>(rows * sizes.num_experts);
  memory.chosen = reinterpret_cast<int32_t*>(region.Take<std::byte>(ChoicesBytes(graph, rows)));
  memory.chosen_weights = region.Take<float>(num_entries);
  memory.groups.entries = region.Take<int32_t>(num_entries);
  memory.groups.tiles = region.Take<PromptTile>(
      MaxPromptTiles(num_entries, static_cast<int>(sizes.num_experts), kSmallestPromptTile));
  memory.groups.num_tiles = region.Take<int32_t>(1);
  memory.hidden = TakeVectors(sizes.hidden_vectors, sizes.hidden_size, region);
  memory.down = region.Take<float>(num_entries * width);
  memory.shared_hidden = TakeVectors(sizes.shared_size > 0 ? rows : 0, sizes.shared_size, region);
  memory.shared = region.Take<float>(sizes.shared_size > 0 ? rows * width : 0);
  memory.shared_gate = region.Take<float>(sizes.shared_size > 0 ? rows : 0);
  return memory;
}

StepMemory LayStepMemory(const ModelGraph& graph, const DeviceKv& kv, const StepBlockLayout& layout,
                         DeviceRegion& region) {
  const Sizes sizes = SizesOf(graph, kMaxRows);
  const int64_t width = graph.width;
  constexpr int64_t kRows = kMaxRows;
  StepMemory memory;
  memory.step = region.Take<DeviceStep>(1);
  memory.rotary = region.Take<float>(layout.rotary_floats());
  memory.page_table = region.Take<std::byte*>(kv.table_entries());
  memory.fault = region.Take<uint32_t>(1);
  memory.drawn = region.Take<int32_t>(DeviceKv::kMaxSequences);
  memory.x = region.Take<float>(kRows * width);
  memory.part = region.Take<float>(kRows * width);
  memory.normed = TakeVectors(kRows, width, region);

  memory.query = region.Take<float>(kRows * sizes.query);
  memory.key = region.Take<float>(kRows * sizes.key);
  memory.value = region.Take<float>(kRows * sizes.value);
  memory.queries = region.Take<float>(kRows * sizes.query);
  memory.attended = TakeVectors(kRows, sizes.attended, region);
  memory.partials = region.Take<float>(sizes.partials);
  memory.attention_tickets = region.Take<uint32_t>(sizes.tickets);

  memory.router_logits = region.Take<float>(kRows * sizes.num_experts);
  memory.router_tickets = region.Take<uint32_t>(kRows);
  memory.chosen = reinterpret_cast<int32_t*>(region.Take<std::byte>(ChoicesBytes(graph, kMaxRows)));
  memory.chosen_weights = region.Take<float>(NumChoices(graph, kMaxRows));
  memory.found = region.Take<DeviceExpert>(sizes.num_experts);
  if (layout.max_landing_groups > 0) {
    memory.landings = region.Take<std::byte>(layout.landings_bytes());
    memory.landed = region.Take<std::byte>(LandedBytes(layout));
  }
  memory.mail_state = region.Take<MailState>(1);
  memory.mailed = region.Take<float>(sizes.num_chosen * width);
  memory.staged_table = region.Take<DeviceExpert>(sizes.num_experts);
  memory.hidden = TakeVectors(sizes.hidden_vectors, sizes.hidden_size, region);
  memory.hidden_tickets =
      region.Take<uint32_t>(NumTickets(sizes.hidden_vectors, sizes.hidden_size));
  memory.shared_hidden = TakeVectors(kRows, sizes.shared_size, region);
  memory.shared_tickets = region.Take<uint32_t>(NumTickets(kRows, sizes.shared_size));
  memory.shared = region.Take<float>(kRows * width);
  memory.shared_gate = region.Take<float>(kRows);

  memory.output = TakeVectors(kRows, width, region);
  memory.hidden_states = region.Take<float>(kRows * width);
  memory.logits = region.Take<float>(kRows * graph.vocabulary);
  memory.best = region.Take<uint64_t>(kRows);
  memory.draw_ticket = region.Take<uint32_t>(1);
  return memory;
}

}  // namespace strata
