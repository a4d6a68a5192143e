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
#include "strata/generate/cuda/batch_answers.h"
#include "strata/generate/cuda/create_cuda_engine.h"
#include "strata/generate/cuda/cuda_layers.h"
#include "strata/generate/cuda/cuda_prompt_layers.h"
#include "strata/generate/cuda/cuda_support.h"
#include "strata/generate/cuda/device_kv.h"
#include "strata/generate/cuda/device_region.h"
#include "strata/generate/cuda/device_weights.h"
#include "strata/generate/cuda/gpu_memory_use.h"
#include "strata/generate/cuda/placed_embedding.h"
#include "strata/generate/cuda/prompt_runner.h"
#include "strata/generate/cuda/prompt_step.h"
#include "strata/generate/cuda/step_graph.h"
#include "strata/generate/cuda/step_memory.h"
#include "strata/generate/cuda/step_writer.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/kernels/cuda/step_block.h"
#include "strata/generate/kernels/cuda/step_fault.h"
#include "strata/generate/kernels/not_finite.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/run_layers.h"
#include "strata/generate/placement/expert_placement.h"

namespace strata {
namespace {

using Clock = std::chrono::steady_clock;

double MsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
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
         PromptStep::DeviceBytes(graph, layout, PromptRunner::MaxRows(prompt_batch, max_context));
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
      writer_(graph, max_context_),
      layout_(LayoutOf(graph, options.experts.offered_share)),
      pin_budget_(std::numeric_limits<int64_t>::max(), "the engine's own memory"),
      host_memory_(device, pin_budget_),
      answers_(graph) {}

CudaEngine::~CudaEngine() {
  if (!chunk_.has_value()) return;
  // It waits for the answers.
  if (chunk_->is_served) misses_.Serve().IgnoreError();
  device_.Drain(chunk_->event);
}

absl::Status CudaEngine::Prepare() {
  ASSIGN_OR_RETURN(stream_, device_.CreateStream());
  ASSIGN_OR_RETURN(weights_, DeviceWeights::Create(file_, graph_, device_));
  ASSIGN_OR_RETURN(embedding_,
                   PlacedEmbedding::Create(graph_, *weights_, host_memory_, device_, stream_));
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
  const GpuMemoryUse use = {.weights = weights_->bytes() + embedding_.device_bytes(),
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
      .embedding = embedding_.rows(),
      .layout = layout_,
      .mail = misses_.mail(),
      .part_offsets = misses_.part_offsets(),
      .block = block_memory_,
      .expert_table = experts_ == nullptr ? nullptr : experts_->table_image(),
      .fetches_misses = HasMisses(),
      .fetch_memory =
          layer_stream() == nullptr ? absl::Span<std::byte>() : layer_stream()->memory(),
      .stream = stream});
  if (prompt_ == nullptr) return absl::OkStatus();
  prompts_ =
      std::make_unique<PromptRunner>(PromptRunner::Collaborators{.graph = graph_,
                                                                 .weights = *weights_,
                                                                 .kv = kv_,
                                                                 .memory = memory_,
                                                                 .outputs = outputs_,
                                                                 .step = *prompt_,
                                                                 .embedding = embedding_.rows(),
                                                                 .experts = experts_.get(),
                                                                 .writer = writer_,
                                                                 .device = device_,
                                                                 .stream = stream_});
  return absl::OkStatus();
}

bool CudaEngine::HasMisses() const {
  return experts_ != nullptr && experts_->slots().num_slots() < experts_->geometry().size();
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
                                               PromptRunner::MaxRows(prompt_batch_, max_context_)));
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
  answers_.Clear();
  if (experts_ != nullptr) experts_->BeginStep();
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
        left.subspan(0, IsPrompt(batch) ? prompts_->NumRows(left, batch.wants_hidden) : most);
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
  double waited_ms = 0;
  if (chunk.is_prompt) {
    RETURN_IF_ERROR(prompts_->Launch(rows, chunk.shape, batch.should_stop));
    chunk.fault_texts = &prompts_->fault_texts();
    chunk.choices = prompts_->choices();
    waited_ms = prompts_->waited_ms();
  } else {
    RETURN_IF_ERROR(LaunchRecorded(chunk));
  }
  ASSIGN_OR_RETURN(chunk.event, device_.Record(stream_));
  chunk_ = std::move(chunk);
  ++figures_.num_steps;
  figures_.host_ms += MsSince(start) - waited_ms;
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

LayerStream* CudaEngine::layer_stream() const {
  return experts_ == nullptr ? nullptr : experts_->layer_stream();
}

absl::Status CudaEngine::WriteBlock(absl::Span<const StepRow> rows) {
  block_->Clear();
  for (const StepRow& row : rows) {
    ASSIGN_OR_RETURN(const int index, writer_.AddRow(row, *block_));
    for (int rotation = 0; rotation < layout_.num_rotations; ++rotation) {
      writer_.WriteAngles(rotation, row.position, block_->Angles(rotation, index));
    }
  }
  return absl::OkStatus();
}

absl::Status CudaEngine::FinishChunk() {
  const Chunk chunk = *std::exchange(chunk_, std::nullopt);
  const absl::Status served = chunk.is_served ? misses_.Serve() : absl::OkStatus();
  RETURN_IF_ERROR(device_.Wait(chunk.event));
  if (chunk.is_served) RETURN_IF_ERROR(misses_.CheckInTime());
  RETURN_IF_ERROR(served);
  if (IsDecode(batch_)) misses_.AddStep(MsSince(chunk.start));
  const Clock::time_point start = Clock::now();
  const absl::Status status = TakeAnswers(chunk);
  figures_.host_ms += MsSince(start);
  return status;
}

absl::Status CudaEngine::TakeAnswers(const Chunk& chunk) {
  if (chunk.is_prompt) prompts_->CollectResults();
  if (const uint64_t fault = outputs_.result->fault; fault != kNoFault) {
    const uint32_t operation = OperationOfFault(fault);
    CHECK_LT(operation, chunk.fault_texts->size());
    return NotFiniteError((*chunk.fault_texts)[operation]);
  }
  if (chunk.may_land) answers_.TakeLandings(outputs_.landed, layout_.max_offers);
  return answers_.Take(chunk.rows, chunk.shape.wants_hidden, outputs_, chunk.choices);
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
  EndBatch(outcome_);
  if (experts_ != nullptr) outcome_.Update(experts_->AddLandings(answers_.landed()));
  RETURN_IF_ERROR(outcome_);
  return answers_.Collect();
}

void CudaEngine::EndBatch(const absl::Status& outcome) {
  const StepRouting& routing =
      answers_.EndBatch(static_cast<int>(batch_.rows.size()), outcome.ok());
  counters_.routed += std::ssize(routing.experts);
  if (experts_ != nullptr) {
    experts_->SetMissPath(was_served_ ? misses_.path() : MissPath::kRead, answers_.landed());
    experts_->AddResult(outcome, batch_.rows, routing);
  }
  for (const StepRow& row : batch_.rows) {
    DeviceSequence& sequence = SequenceOf(row);
    if (outcome.ok()) {
      sequence.Advance(row.position + 1);
    } else {
      sequence.Rewind(sequence.position());  // Pages that the step took.
    }
  }
}

}  // namespace strata
