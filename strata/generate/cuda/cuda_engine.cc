#include "strata/generate/cuda/cuda_engine.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "cuda_runtime_api.h"
#include "glog/logging.h"
#include "strata/cache/policy/landing_pools.h"
#include "strata/cache/tier/expert_entry.h"
#include "strata/cache/tier/expert_table.h"
#include "strata/cache/tier/landing.h"
#include "strata/cache/tier/tier_counters.h"
#include "strata/core/cuda_status.h"
#include "strata/core/device.h"
#include "strata/core/device_event.h"
#include "strata/core/error.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/host_device.h"
#include "strata/core/host_memory.h"
#include "strata/core/note.h"
#include "strata/core/status_macros.h"
#include "strata/generate/cuda/create_cuda_engine.h"
#include "strata/generate/cuda/cuda_layers.h"
#include "strata/generate/cuda/cuda_prompt_layers.h"
#include "strata/generate/cuda/cuda_support.h"
#include "strata/generate/cuda/device_kv.h"
#include "strata/generate/cuda/device_region.h"
#include "strata/generate/cuda/device_weights.h"
#include "strata/generate/cuda/gpu_memory_use.h"
#include "strata/generate/cuda/prompt_step.h"
#include "strata/generate/cuda/step_graph.h"
#include "strata/generate/cuda/step_memory.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/kernels/cuda/block_codes.h"
#include "strata/generate/kernels/cuda/draw_tokens.h"
#include "strata/generate/kernels/cuda/landing_places.h"
#include "strata/generate/kernels/cuda/prompt_rows.h"
#include "strata/generate/kernels/cuda/step_block.h"
#include "strata/generate/kernels/cuda/step_fault.h"
#include "strata/generate/kernels/not_finite.h"
#include "strata/generate/kernels/rotary.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/run_layers.h"
#include "strata/generate/placement/expert_placement.h"

namespace strata {
namespace {

using Clock = std::chrono::steady_clock;

double MsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

DeviceSequence& Of(const StepRow& row) { return *static_cast<DeviceSequence*>(row.sequence); }

bool WantsOutput(const StepRow& row) { return row.wants_logits || row.draw.sampler != nullptr; }

// The device draws as the host would, except by chance and with a penalty.
bool DrawsOnDevice(const StepRow& row) {
  return row.draw.sampler != nullptr && row.draw.sampler->takes_most_likely();
}

bool NeedsLogits(const StepRow& row) {
  return row.wants_logits || (row.draw.sampler != nullptr && !DrawsOnDevice(row));
}

cudaStream_t HandleOf(const DeviceStream& stream) {
  return static_cast<cudaStream_t>(stream.handle());
}

// Changes of the expert table that a step's block has room for: swaps of a few rounds, or a chunk of
// a fill. More come by a copy of the whole table.
constexpr int kMaxExpertPatches = 256;

StepBlockLayout LayoutOf(const ModelGraph& graph, double offered_share) {
  const auto num_layers = static_cast<int>(graph.experts.layers().size());
  const double num_experts = static_cast<double>(num_layers) * graph.experts.num_experts();
  StepBlockLayout layout = {
      .num_rotations = static_cast<int>(graph.rotations.size()),
      // A landing class has a layer at least, and one offer more than its share at most.
      .max_landing_groups = offered_share > 0 ? num_layers : 0,
      .max_offers = static_cast<int>(std::ceil(num_experts * offered_share)) + num_layers,
      .max_page_patches = kMaxRows,
      .max_expert_patches = num_layers > 0 ? kMaxExpertPatches : 0};
  CHECK_LE(layout.num_rotations, StepBlockLayout::kMaxRotations);
  for (int i = 0; i < layout.num_rotations; ++i) {
    layout.rotation_dims[i] = graph.rotations[static_cast<size_t>(i)].angles.num_dims;
  }
  return layout;
}

// A plan is made for a card of today.
constexpr int kPlannedCapability = 90;

// Of a step of a prompt: whole blocks.
int PromptRows(int64_t prompt_batch, int64_t max_context) {
  constexpr int64_t kMost = std::numeric_limits<int>::max() / kMaxRows * kMaxRows;
  const int64_t rows = std::min(prompt_batch, max_context);
  return static_cast<int>(std::min((rows + kMaxRows - 1) / kMaxRows * kMaxRows, kMost));
}

}  // namespace

absl::StatusOr<std::unique_ptr<CudaStepEngine>> CreateCudaEngine(const CudaEngineOptions& options,
                                                                 const GgufFile& file,
                                                                 const ModelGraph& graph,
                                                                 Device& device) {
  return CudaEngine::Create(options, file, graph, device);
}

absl::StatusOr<int64_t> CudaWorkspaceBytes(const ModelGraph& graph, KvType kv_type,
                                           int64_t max_context, int64_t prompt_batch) {
  RETURN_IF_ERROR(CheckKernelsRun(graph));
  HostDevice unused;  // Of which no memory is taken.
  const DeviceKv kv(unused, kv_type, graph, max_context);
  DeviceRegion steps;
  const StepBlockLayout layout = LayoutOf(graph, LandingPools::kDefaultShare);
  LayStepMemory(graph, kv, layout, steps);
  if (!CheckPromptKernelsRun(graph, kPlannedCapability).ok()) return steps.bytes();
  if (prompt_batch == 0) prompt_batch = kCudaPromptBatch;
  return steps.bytes() +
         PromptStep::DeviceBytes(graph, layout, PromptRows(prompt_batch, max_context));
}

absl::StatusOr<std::unique_ptr<CudaEngine>> CudaEngine::Create(const CudaEngineOptions& options,
                                                               const GgufFile& file,
                                                               const ModelGraph& graph,
                                                               Device& device) {
  RETURN_IF_ERROR(CheckKernelsRun(graph));
  auto engine = absl::WrapUnique(new CudaEngine(options, file, graph, device));
  RETURN_IF_ERROR(engine->Prepare());
  return engine;
}

CudaEngine::CudaEngine(const CudaEngineOptions& options, const GgufFile& file,
                       const ModelGraph& graph, Device& device)
    : options_(options),
      file_(file),
      graph_(graph),
      device_(device),
      max_context_(options.engine.max_context > 0 ? options.engine.max_context
                                                  : graph.context_length),
      prompt_batch_(options.engine.prompt_batch > 0 ? options.engine.prompt_batch
                                                    : kCudaPromptBatch),
      kv_(device, options.engine.kv_type, graph, max_context_),
      layout_(LayoutOf(graph, options.experts.offered_share)),
      pin_budget_(std::numeric_limits<int64_t>::max(), "the engine's own memory"),
      host_memory_(device, pin_budget_) {
  for (const Rotation& rotation : graph.rotations) rotary_.emplace_back(rotation.angles);
}

CudaEngine::~CudaEngine() {
  if (!chunk_.has_value()) return;
  // It waits for the answers.
  if (chunk_->is_served) misses_.Serve().IgnoreError();
  device_.Drain(chunk_->event);
}

absl::Status CudaEngine::Prepare() {
  ASSIGN_OR_RETURN(stream_, device_.CreateStream());
  ASSIGN_OR_RETURN(weights_, DeviceWeights::Create(file_, graph_, device_));
  RETURN_IF_ERROR(PlaceEmbedding());
  EndStartPart("weights");
  RETURN_IF_ERROR(MakeStepMemory());
  RETURN_IF_ERROR(MakePromptStep());
  // Room for a usual text, before the experts take what is left.
  RETURN_IF_ERROR(kv_.Reserve(std::min(max_context_, kReservedContext)));
  EndStartPart("workspace");
  ExpertPlacement::Options experts = options_.experts;
  experts.streams_layers = prompt_ != nullptr;
  experts.patches_by_step = true;
  ASSIGN_OR_RETURN(experts_, ExpertPlacement::Create(experts, file_, graph_, device_,
                                                     graph_.experts.empty() ? nullptr : &stream_));
  if (experts_ == nullptr || !experts_->lands()) outputs_.landed = nullptr;
  if (experts_ != nullptr) {
    RETURN_IF_ERROR(misses_.Start(options_.experts.misses, options_.engine.num_threads, graph_,
                                  *experts_, memory_, device_));
  }
  EndStartPart("experts");
  RETURN_IF_ERROR(MakeLayers());
  // What no kernel runs is found now, not after a prompt was read.
  ASSIGN_OR_RETURN(const Recorded* decode, RecordedFor({.rows = 1, .wanted = 1}));
  figures_.nodes = decode->graph.num_nodes();
  EndStartPart("recording");
  TellOfMemory();
  return absl::OkStatus();
}

void CudaEngine::TellOfMemory() {
  if (experts_ == nullptr) return;
  const absl::StatusOr<DeviceMemoryInfo> memory = device_.GetMemoryInfo();
  if (!memory.ok()) return;
  const GpuMemoryUse use = {.weights = weights_->bytes() + embedding_device_.size(),
                            .kv = kv_.bytes(),
                            .workspace = workspace_bytes(),
                            .slots = experts_->slots().bytes(),
                            .free = memory->free_bytes,
                            .total = memory->total_bytes};
  Note(use.Describe());
}

void CudaEngine::EndStartPart(std::string name) {
  if (options_.start_times != nullptr) options_.start_times->EndPart(std::move(name));
}

absl::Status CudaEngine::MakeLayers() {
  cudaDeviceProp properties;
  RETURN_IF_ERROR(CudaStatus(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties"));
  const KernelStream stream = {
      .stream = HandleOf(stream_),
      .programmatic = options_.programmatic_launch && properties.major >= 9};
  layers_ = std::make_unique<CudaLayers>(CudaLayers::Collaborators{
      .graph = graph_,
      .weights = *weights_,
      .kv = kv_,
      .memory = memory_,
      .outputs = outputs_,
      .embedding = embedding_,
      .layout = layout_,
      .mail = misses_.mail(),
      .part_offsets = misses_.part_offsets(),
      .block = block_memory_,
      .expert_table = experts_ == nullptr ? nullptr : experts_->table_image(),
      .fetches_misses = HasMisses(),
      .fetch_memory =
          layer_stream() == nullptr ? absl::Span<std::byte>() : layer_stream()->memory(),
      .stream = stream});
  if (prompt_ != nullptr) {
    prompt_layers_ = std::make_unique<CudaPromptLayers>(CudaPromptLayers::Collaborators{
        .graph = graph_,
        .weights = *weights_,
        .kv = kv_,
        .step = *prompt_,
        .memory = memory_,
        .outputs = outputs_,
        .embedding = embedding_,
        .expert_table = experts_ == nullptr ? nullptr : experts_->table_image(),
        .device = device_,
        .launches = stream_,
        .stream = {.stream = stream.stream}});
  }
  return absl::OkStatus();
}

bool CudaEngine::HasMisses() const {
  return experts_ != nullptr && experts_->slots().num_slots() < experts_->geometry().size();
}

absl::Status CudaEngine::PlaceEmbedding() {
  const WeightMatrix& weights = graph_.embedding;
  const int64_t bytes = weights.rows * weights.row_bytes();
  embedding_ = {.type = weights.type,
                .rows = weights.rows,
                .columns = weights.columns,
                .data = weights_->Find(weights),  // Where the output is tied to it.
                .scale = graph_.embedding_scale};
  if (embedding_.data == nullptr) {
    ASSIGN_OR_RETURN(
        embedding_host_,
        host_memory_.Allocate({.purpose = "the embedding", .unit_bytes = bytes, .num_units = 1}));
    std::memcpy(embedding_host_.data(), weights.data, static_cast<size_t>(bytes));
    embedding_.data = embedding_host_.data();
    if (!embedding_host_.pinned()) {
      ASSIGN_OR_RETURN(embedding_device_, device_.Allocate(bytes + DeviceRegion::kAlignment));
      RETURN_IF_ERROR(
          device_.CopyToDevice(embedding_device_.data(), embedding_host_.bytes(), stream_));
      embedding_.data = embedding_device_.data();
    }
  }
  const std::unique_ptr<const BlockTables> tables =
      std::make_unique<const BlockTables>(MakeBlockTables());
  ASSIGN_OR_RETURN(tables_, device_.Allocate(sizeof(BlockTables)));
  embedding_.tables = reinterpret_cast<const BlockTables*>(tables_.data());
  // From pageable memory: it has been read when the call returns.
  return device_.CopyToDevice(
      tables_.data(), {reinterpret_cast<const std::byte*>(tables.get()), sizeof(BlockTables)},
      stream_);
}

absl::Status CudaEngine::MakeStepMemory() {
  DeviceRegion measure;
  LayStepMemory(graph_, kv_, layout_, measure);
  ASSIGN_OR_RETURN(step_memory_, device_.Allocate(measure.bytes()));
  DeviceRegion region(step_memory_.data());
  memory_ = LayStepMemory(graph_, kv_, layout_, region);
  RETURN_IF_ERROR(
      CudaStatus(cudaMemsetAsync(step_memory_.data(), 0, step_memory_.size(), HandleOf(stream_)),
                 "cudaMemsetAsync"));
  const auto lay_pinned = [&](DeviceRegion& pinned) {
    block_memory_ = pinned.Take<std::byte>(layout_.bytes());
    outputs_.result = pinned.Take<DeviceStepResult>(1);
    outputs_.choices = pinned.Take<std::byte>(ChoicesBytes(graph_, kMaxRows));
    outputs_.landed = pinned.Take<std::byte>(LandedBytes(layout_));
    misses_.LayMailbox(graph_, pinned);
    outputs_.logits = pinned.Take<float>(kMaxRows * graph_.vocabulary);
    outputs_.hidden_states = pinned.Take<float>(kMaxRows * graph_.width + 4);
  };
  DeviceRegion measure_pinned;
  lay_pinned(measure_pinned);
  ASSIGN_OR_RETURN(pinned_, device_.AllocatePinned(measure_pinned.bytes()));
  DeviceRegion pinned(pinned_.data());
  lay_pinned(pinned);
  block_ = std::make_unique<StepBlock>(layout_, block_memory_);
  return absl::OkStatus();
}

absl::Status CudaEngine::MakePromptStep() {
  const absl::Status runs = CheckPromptKernelsRun(graph_, device_.properties().compute_capability);
  if (!runs.ok()) {
    LOG(WARNING) << "prompts are computed " << kMaxRows << " tokens at a time: " << runs.message();
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(prompt_, PromptStep::Create(device_, graph_, layout_,
                                               PromptRows(prompt_batch_, max_context_)));
  return absl::OkStatus();
}

absl::StatusOr<const CudaEngine::Recorded*> CudaEngine::RecordedFor(const StepShape& shape) {
  const auto found = recorded_.find(shape);
  if (found != recorded_.end()) return &found->second;
  Recorded recorded;
  layers_->Begin(shape);
  ASSIGN_OR_RETURN(recorded.graph, StepGraph::Record(HandleOf(stream_),
                                                     [&] { return RunLayers(graph_, *layers_); }));
  recorded.fault_texts = layers_->fault_texts();
  return &recorded_.emplace(shape, std::move(recorded)).first->second;
}

Engine::Hardware CudaEngine::hardware() const {
  return {.kind = "cuda",
          .name = device_.properties().name,
          .num_threads = options_.engine.num_threads};
}

std::unique_ptr<SequenceState> CudaEngine::NewSequence() {
  return std::make_unique<DeviceSequence>(kv_);
}

int64_t CudaEngine::workspace_bytes() const {
  return step_memory_.size() + (prompt_ == nullptr ? 0 : prompt_->bytes()) +
         (layer_stream() == nullptr ? 0 : layer_stream()->bytes());
}

void CudaEngine::BeginPrompt() {
  in_prompt_ = true;
  if (experts_ != nullptr) experts_->BeginPrompt();
}
void CudaEngine::EndPrompt() {
  in_prompt_ = false;
  if (experts_ != nullptr) experts_->EndPrompt();
}
void CudaEngine::FirstTokenOut() {
  if (experts_ != nullptr) experts_->FirstTokenOut();
}

absl::Status CudaEngine::Launch(const StepBatch& batch) {
  CHECK(!batch.rows.empty());
  CHECK(!chunk_.has_value()) << "a step is under way";
  batch_ = batch;
  result_.drawn.clear();
  num_logits_ = num_hidden_ = 0;
  choices_.resize(graph_.experts.layers().size());
  for (std::vector<uint16_t>& choices : choices_) choices.clear();
  if (experts_ != nullptr) experts_->BeginStep();
  landed_.clear();
  // What kernels cannot read is served by the host, which serves one row at a time.
  const bool must_serve = experts_ != nullptr && experts_->num_unreadable() > 0 && !IsPrompt(batch);
  was_served_ = (IsDecode(batch) || must_serve) && misses_.ServesNext(must_serve);
  outcome_ = RunBatch(batch);
  if (experts_ != nullptr && !outcome_.ok()) experts_->PatchLost();
  // The event of the last work on the stream, whatever became of it.
  if (experts_ != nullptr) {
    const absl::StatusOr<DeviceEvent> work = device_.Record(stream_);
    experts_->EndStep(work.ok() ? *work : DeviceEvent());
  }
  return absl::OkStatus();
}

bool CudaEngine::IsPrompt(const StepBatch& batch) const {
  return prompt_ != nullptr && (in_prompt_ || std::ssize(batch.rows) > kMaxRows);
}

bool CudaEngine::IsDecode(const StepBatch& batch) const {
  return batch.rows.size() == 1 && !IsPrompt(batch);
}

double CudaEngine::PromptWaitMs() const {
  return prompt_layers_ == nullptr ? 0 : prompt_layers_->waited_ms();
}

size_t CudaEngine::NumPromptRows(absl::Span<const StepRow> rows, bool wants_hidden) const {
  const int64_t most = wants_hidden ? kMaxRows : prompt_->max_rows();
  int num_runs = 0, num_wanted = 0;
  size_t count = 0;
  for (; count < rows.size() && static_cast<int64_t>(count) < most; ++count) {
    const StepRow& row = rows[count];
    num_runs += count == 0 || rows[count - 1].sequence != row.sequence ||
                rows[count - 1].position + 1 != row.position;
    num_wanted += WantsOutput(row);
    if (num_runs > kMaxPromptRuns || num_wanted > kMaxRows) break;
  }
  return count;
}

absl::Status CudaEngine::RunBatch(const StepBatch& batch) {
  for (absl::Span<const StepRow> left = batch.rows; !left.empty();) {
    if (chunk_.has_value()) {
      RETURN_IF_ERROR(FinishChunk());
      if (batch.should_stop != nullptr && (*batch.should_stop)()) {
        return absl::CancelledError("the step was asked to stop");
      }
    }
    const size_t most = was_served_ ? 1 : size_t{kMaxRows};
    const absl::Span<const StepRow> rows =
        left.subspan(0, IsPrompt(batch) ? NumPromptRows(left, batch.wants_hidden) : most);
    RETURN_IF_ERROR(LaunchChunk(batch, rows));
    left.remove_prefix(rows.size());
  }
  return absl::OkStatus();
}

absl::Status CudaEngine::LaunchChunk(const StepBatch& batch, absl::Span<const StepRow> rows) {
  const Clock::time_point start = Clock::now();
  Chunk chunk = {
      .rows = rows,
      .shape = {.rows = static_cast<int>(rows.size()), .wants_hidden = batch.wants_hidden}};
  for (const StepRow& row : rows) {
    chunk.shape.wanted += WantsOutput(row);
    chunk.shape.copies_logits |= NeedsLogits(row);
  }
  chunk.is_prompt = IsPrompt(batch);
  chunk.is_served = chunk.shape.mails_misses = was_served_;
  chunk.start = start;
  const double waited_before = PromptWaitMs();
  RETURN_IF_ERROR(chunk.is_prompt ? LaunchPrompt(chunk, batch.should_stop) : LaunchRecorded(chunk));
  ASSIGN_OR_RETURN(chunk.event, device_.Record(stream_));
  chunk_ = std::move(chunk);
  ++figures_.num_steps;
  figures_.host_ms += MsSince(start) - (PromptWaitMs() - waited_before);
  return absl::OkStatus();
}

absl::Status CudaEngine::LaunchRecorded(Chunk& chunk) {
  ASSIGN_OR_RETURN(const Recorded* recorded, RecordedFor(chunk.shape));
  chunk.fault_texts = &recorded->fault_texts;
  chunk.choices = outputs_.choices;
  RETURN_IF_ERROR(WriteBlock(chunk.rows));
  if (chunk.is_served) misses_.BeginStep();
  chunk.may_land = outputs_.landed != nullptr && chunk.rows.size() == batch_.rows.size();
  RETURN_IF_ERROR(WritePlacement(chunk.may_land));
  return recorded->graph.Launch(HandleOf(stream_));
}

absl::Status CudaEngine::WritePlacement(bool may_land) {
  if (experts_ == nullptr) return absl::OkStatus();
  if (may_land) {
    CHECK(block_->OfferLandings(experts_->first_layer(), experts_->landing_groups(),
                                experts_->offers()));
  }
  for (const TablePatch& patch : experts_->patch()) {
    const auto* const entry = reinterpret_cast<const std::byte*>(&patch.entry);
    if (!block_->PatchExpert(patch.number, absl::MakeConstSpan(entry, sizeof(patch.entry)))) {
      return experts_->RecoverTable();
    }
  }
  return absl::OkStatus();
}

absl::Status CudaEngine::LaunchPrompt(Chunk& chunk, const std::function<bool()>* should_stop) {
  if (experts_ != nullptr && !experts_->patch().empty()) {
    RETURN_IF_ERROR(experts_->RecoverTable());
  }
  prompt_->Clear();
  for (const StepRow& row : chunk.rows) {
    RETURN_IF_ERROR(AddRow(row, prompt_->NextBlock()).status());
    for (int rotation = 0; rotation < layout_.num_rotations; ++rotation) {
      WriteAngles(rotation, row.position, prompt_->Angles(rotation));
    }
  }
  const absl::Status launched = RunPrompt(chunk.shape, should_stop);
  if (!launched.ok()) {
    // What was launched reads the step, which may be written again now.
    cudaStreamSynchronize(HandleOf(stream_));
    return launched;
  }
  chunk.fault_texts = &prompt_layers_->fault_texts();
  chunk.choices = prompt_->choices();
  return absl::OkStatus();
}

LayerStream* CudaEngine::layer_stream() const {
  return experts_ == nullptr ? nullptr : experts_->layer_stream();
}

absl::Status CudaEngine::RunPrompt(const StepShape& shape,
                                   const std::function<bool()>* should_stop) {
  LayerStream* const stream = layer_stream();
  prompt_layers_->Begin(shape, should_stop, stream);
  if (stream == nullptr) return RunLayers(graph_, *prompt_layers_);
  const int64_t num_choices = int64_t{shape.rows} * graph_.experts.num_used();
  const bool wants_all = num_choices >= kChoicesForAll * graph_.experts.num_experts();
  absl::Status status =
      stream->Begin(experts_->table(), stream_,
                    wants_all ? LayerStream::Bring::kAhead : LayerStream::Bring::kByKernels);
  if (status.ok()) status = RunLayers(graph_, *prompt_layers_);
  status.Update(stream->End());
  return status;
}

absl::Status CudaEngine::WriteBlock(absl::Span<const StepRow> rows) {
  block_->Clear();
  for (const StepRow& row : rows) {
    ASSIGN_OR_RETURN(const int index, AddRow(row, *block_));
    for (int rotation = 0; rotation < layout_.num_rotations; ++rotation) {
      WriteAngles(rotation, row.position, block_->Angles(rotation, index));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int> CudaEngine::AddRow(const StepRow& row, StepBlock& block) {
  DeviceSequence& sequence = Of(row);
  CHECK_LT(row.position, max_context_);
  RETURN_IF_ERROR(sequence.Reserve(row.position + 1, block));
  const TokenId token = row.token == kLastDrawn ? sequence.last_drawn : row.token;
  CHECK(0 <= token && token < graph_.vocabulary) << token;
  return block.AddRow({.token = token,
                       .position = static_cast<int32_t>(row.position),
                       .first_page = sequence.first_page(),
                       .sequence = sequence.number()},
                      WantsOutput(row));
}

void CudaEngine::WriteAngles(int rotation, int64_t position, absl::Span<float> angles) {
  RotaryTable& table = rotary_[static_cast<size_t>(rotation)];
  table.ExtendTo(position + 1);
  const absl::Span<const float> cosines = table.Cosines(position);
  const absl::Span<const float> sines = table.Sines(position);
  std::copy(sines.begin(), sines.end(), std::copy(cosines.begin(), cosines.end(), angles.begin()));
}

absl::Status CudaEngine::FinishChunk() {
  const Chunk chunk = *std::exchange(chunk_, std::nullopt);
  const absl::Status served = chunk.is_served ? misses_.Serve() : absl::OkStatus();
  RETURN_IF_ERROR(device_.Wait(chunk.event));
  if (chunk.is_served) RETURN_IF_ERROR(misses_.CheckInTime());
  RETURN_IF_ERROR(served);
  if (IsDecode(batch_)) misses_.AddStep(MsSince(chunk.start));
  const Clock::time_point start = Clock::now();
  const absl::Status status = TakeOutputs(chunk);
  figures_.host_ms += MsSince(start);
  return status;
}

absl::Status CudaEngine::TakeOutputs(const Chunk& chunk) {
  if (chunk.is_prompt) prompt_layers_->CollectResults();
  const DeviceStepResult& result = *outputs_.result;
  if (result.fault != kNoFault) {
    const uint32_t operation = OperationOfFault(result.fault);
    CHECK_LT(operation, chunk.fault_texts->size());
    return NotFiniteError((*chunk.fault_texts)[operation]);
  }
  TakeChoices(chunk);
  if (chunk.may_land) TakeLandings();
  int wanted = 0;
  for (const StepRow& row : chunk.rows) {
    if (!WantsOutput(row)) continue;
    RETURN_IF_ERROR(Draw(row, wanted));
    if (row.wants_logits) {
      const float* const logits = outputs_.logits + wanted * graph_.vocabulary;
      if (logits_.size() == num_logits_) logits_.emplace_back();
      logits_[num_logits_++].assign(logits, logits + graph_.vocabulary);
    }
    ++wanted;
  }
  if (!chunk.shape.wants_hidden) return absl::OkStatus();
  for (int row = 0; row < chunk.shape.rows; ++row) {
    const float* const state = outputs_.hidden_states + row * graph_.width;
    if (hidden_.size() == num_hidden_) hidden_.emplace_back();
    hidden_[num_hidden_++].assign(state, state + graph_.width);
  }
  return absl::OkStatus();
}

absl::Status CudaEngine::Draw(const StepRow& row, int wanted_index) {
  if (row.draw.sampler == nullptr) return absl::OkStatus();
  TokenId token = outputs_.result->drawn[wanted_index];
  if (!DrawsOnDevice(row)) {
    const absl::Span<const float> logits(outputs_.logits + wanted_index * graph_.vocabulary,
                                         static_cast<size_t>(graph_.vocabulary));
    ASSIGN_OR_RETURN(token, row.draw.sampler->Sample(logits, row.draw.context));
  }
  Of(row).last_drawn = token;
  result_.drawn.push_back(token);
  return absl::OkStatus();
}

void CudaEngine::TakeLandings() {
  const auto* const count = reinterpret_cast<const DeviceLandingCount*>(outputs_.landed);
  const auto* const landings = reinterpret_cast<const Landing*>(count + 1);
  CHECK(0 <= count->count && count->count <= layout_.max_offers) << count->count;
  landed_.assign(landings, landings + count->count);
}

void CudaEngine::TakeChoices(const Chunk& chunk) {
  const auto* from = reinterpret_cast<const int32_t*>(chunk.choices);
  const int64_t count = NumChoices(graph_, chunk.shape.rows);
  for (std::vector<uint16_t>& choices : choices_) {
    choices.insert(choices.end(), from, from + count);
    from += count;
  }
}

absl::StatusOr<const StepResult*> CudaEngine::Finish() {
  if (chunk_.has_value()) {
    const absl::Status finished = FinishChunk();
    if (outcome_.ok()) outcome_ = finished;
  }
  // Bytes that went missing while they were read explain whatever else went wrong.
  absl::Status unchanged = file_.CheckUnchanged();
  if (unchanged.ok() && experts_ != nullptr) unchanged = experts_->CheckUnchanged();
  if (!unchanged.ok()) outcome_ = unchanged;
  if (ErrorKind(outcome_) == "nan_logits") outcome_ = WithFile(outcome_, file_.path());
  if (!outcome_.ok()) landed_.clear();
  EndBatch(outcome_);
  if (experts_ != nullptr) outcome_.Update(experts_->AddLandings(landed_));
  RETURN_IF_ERROR(outcome_);
  CollectViews();
  return &result_;
}

void CudaEngine::EndBatch(const absl::Status& outcome) {
  StepRouting& routing = result_.routing;
  routing.num_rows = static_cast<int>(batch_.rows.size());
  routing.num_chosen = graph_.experts.num_used();
  routing.experts.clear();
  // A step that failed may have come to some of its rows alone.
  if (outcome.ok()) {
    for (const std::vector<uint16_t>& choices : choices_) {
      routing.experts.insert(routing.experts.end(), choices.begin(), choices.end());
    }
  }
  counters_.routed += std::ssize(routing.experts);
  if (experts_ != nullptr) {
    experts_->SetMissPath(was_served_ ? misses_.path() : MissPath::kRead, landed_);
    experts_->AddResult(outcome, batch_.rows, routing);
  }
  for (const StepRow& row : batch_.rows) {
    DeviceSequence& sequence = Of(row);
    if (outcome.ok()) {
      sequence.Advance(row.position + 1);
    } else {
      sequence.Rewind(sequence.position());  // Pages that the step took.
    }
  }
}

void CudaEngine::CollectViews() {
  result_.logits.clear();
  result_.hidden.clear();
  for (size_t i = 0; i < num_logits_; ++i) result_.logits.push_back(logits_[i]);
  for (size_t i = 0; i < num_hidden_; ++i) result_.hidden.push_back(hidden_[i]);
}

}  // namespace strata
