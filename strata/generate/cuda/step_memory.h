// Device memory that a step works in: its data, its rows, and what passes from one kernel to the
// next. All of it is taken once, for steps of kMaxRows rows; no address ever changes.
//
// Tickets and counters are zero before the first step, and every kernel leaves its own so.
#ifndef STRATA_GENERATE_CUDA_STEP_MEMORY_H_
#define STRATA_GENERATE_CUDA_STEP_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "strata/core/block_type.h"
#include "strata/generate/cuda/device_kv.h"
#include "strata/generate/cuda/device_region.h"
#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/expert_mail.h"
#include "strata/generate/kernels/cuda/prompt_group.h"
#include "strata/generate/kernels/cuda/step_block.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

struct StepMemory {
  // What the first kernel fetches from the step's block.
  DeviceStep* step = nullptr;
  float* rotary = nullptr;
  std::byte** page_table = nullptr;
  uint32_t* fault = nullptr;
  int32_t* drawn = nullptr;  // By sequence.

  float* x = nullptr;     // [rows][width], the state.
  float* part = nullptr;  // [rows][width], what a part adds where it has a norm after it.
  DeviceActivations normed;

  // Attention.
  float* query = nullptr;
  float* key = nullptr;
  float* value = nullptr;
  float* queries = nullptr;  // Ready to attend.
  DeviceActivations attended;
  float* partials = nullptr;
  uint32_t* attention_tickets = nullptr;

  // Experts. `chosen` is of all layers that have them, [layer][rows][num_chosen].
  float* router_logits = nullptr;
  uint32_t* router_tickets = nullptr;
  int32_t* chosen = nullptr;
  float* chosen_weights = nullptr;
  DeviceExpert* found = nullptr;  // Of a layer, by index: FetchTask::found.
  // Where there are landings: what the step's block says of them, and what has landed,
  // DeviceLandingCount with the list behind it.
  std::byte* landings = nullptr;
  std::byte* landed = nullptr;
  // What the host computes of missed experts (expert_mail.h).
  MailState* mail_state = nullptr;
  float* mailed = nullptr;               // By rank of one row, [width].
  DeviceExpert* staged_table = nullptr;  // Of a layer.
  DeviceActivations hidden;  // By entry of the routing; by row for a dense feed-forward.
  uint32_t* hidden_tickets = nullptr;
  DeviceActivations shared_hidden;
  uint32_t* shared_tickets = nullptr;
  float* shared = nullptr;
  float* shared_gate = nullptr;

  // The end.
  DeviceActivations output;        // Of the rows that want logits, after the output norm.
  float* hidden_states = nullptr;  // [rows][width], after the output norm.
  float* logits = nullptr;
  uint64_t* best = nullptr;
  uint32_t* draw_ticket = nullptr;
};

// What a step of a prompt works in: as StepMemory, for as many rows as it was laid for. What is not
// here is StepMemory's, whose kernels begin and end such a step kMaxRows rows at a time.
struct PromptMemory {
  DeviceStep* steps = nullptr;  // One for each kMaxRows rows.
  float* rotary = nullptr;      // By rotation, [rows][dims].

  float* x = nullptr;
  float* part = nullptr;
  DeviceActivations normed;

  float* query = nullptr;
  float* key = nullptr;
  float* value = nullptr;
  float* queries = nullptr;
  DeviceActivations attended;

  float* router_logits = nullptr;
  int32_t* chosen = nullptr;
  float* chosen_weights = nullptr;
  PromptGroups groups;
  DeviceActivations hidden;
  float* down = nullptr;  // By entry of the routing, [width].
  DeviceActivations shared_hidden;
  float* shared = nullptr;
  float* shared_gate = nullptr;
};

// `rows` is a multiple of kMaxRows.
PromptMemory LayPromptMemory(const ModelGraph& graph, const StepBlockLayout& layout, int rows,
                             DeviceRegion& region);

// Takes all of it from the region.
StepMemory LayStepMemory(const ModelGraph& graph, const DeviceKv& kv, const StepBlockLayout& layout,
                         DeviceRegion& region);

// Vectors of `size` values in such memory, in the forms that weights of these types want, and as
// f32.
DeviceActivations VectorsFor(const DeviceActivations& memory, int64_t size,
                             absl::Span<const BlockType> weights);

// Of a list of landings and its count, in whole 16 bytes.
int64_t LandedBytes(const StepBlockLayout& layout);

// Of one layer's choices for `rows` rows, and of all layers' together in whole 16 bytes.
int64_t NumChoices(const ModelGraph& graph, int rows);
int64_t ChoicesBytes(const ModelGraph& graph, int rows);

}  // namespace strata

#endif  // STRATA_GENERATE_CUDA_STEP_MEMORY_H_
