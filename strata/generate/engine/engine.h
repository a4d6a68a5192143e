// Runs a model: batches of rows in, logits and drawn tokens out. One implementation for each kind
// of device; docs/design/generate.md says what all of them promise about bits.
//
//   std::unique_ptr<SequenceState> state = engine.NewSequence();
//   engine.Launch({.rows = rows});            // A backend with a device of its own goes on alone.
//   ... the host does something else ...
//   const StepResult& result = **engine.Finish();
//
// Texts are easier to run through a Sequence (sequence.h).
#ifndef STRATA_GENERATE_ENGINE_ENGINE_H_
#define STRATA_GENERATE_ENGINE_ENGINE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "strata/core/status_macros.h"
#include "strata/generate/engine/kv_type.h"
#include "strata/generate/engine/step.h"

namespace strata {

// What an engine remembers of one sequence: keys and values, and whatever else a mixer keeps.
// Dies before its engine.
class SequenceState {
 public:
  virtual ~SequenceState() = default;

  // Tokens fed so far by steps that succeeded: the position of the next one.
  virtual int64_t position() const = 0;
  // Forgets tokens from `position` on, or from somewhat before where a part of the model cannot
  // stop in between. Returns the new position(), from which tokens are to be fed again. Not while a
  // step of the sequence is under way.
  virtual int64_t Rewind(int64_t position) = 0;
  // Takes the memory that positions below `num_positions` need now, where it is not there already:
  // so a text that does not fit is refused, by numbers, before anything of it is computed.
  virtual absl::Status MakeRoom(int64_t /*num_positions*/) { return absl::OkStatus(); }
};

// Tokens of a prompt that an engine feeds in one step unless it is told otherwise.
inline constexpr int64_t kCpuPromptBatch = 128;
inline constexpr int64_t kCudaPromptBatch = 4096;

struct EngineOptions {
  int num_threads = 1;  // Of the host, that compute.
  KvType kv_type = KvType::kF32;
  int64_t max_context = 0;  // Tokens of a sequence; 0: as many as the model was made for.
  // Tokens of a prompt that are fed in one step; 0: as many as suit the hardware.
  int64_t prompt_batch = 0;
  // That all snapshots of states which cannot be cut back take together, at most.
  int64_t snapshot_bytes = int64_t{1} << 30;
};

// Used by one thread at a time.
class Engine {
 public:
  // Since the engine was made.
  struct Counters {
    int64_t routed = 0;        // (row, layer, rank) entries.
    int64_t expert_bytes = 0;  // Read for them: an expert once in a step and layer.
    int64_t table_rows = 0;    // Looked up in a table of n-grams.
  };
  struct Hardware {
    std::string kind;     // "cpu", "cuda".
    std::string name;     // Of the instruction set, of the card.
    int num_threads = 0;  // Of the host, that compute.
  };

  virtual ~Engine() = default;

  virtual std::unique_ptr<SequenceState> NewSequence() = 0;

  // Begins a step. One at a time: Finish comes before the next Launch. Errors are of the machine or
  // as Finish; after one there is nothing to finish.
  virtual absl::Status Launch(const StepBatch& batch) = 0;
  // Waits for its end. The result is valid until the next Launch. An error leaves the position of
  // every sequence as it was; kinds: changed, nan_logits, and kCancelled when it was asked to stop.
  virtual absl::StatusOr<const StepResult*> Finish() = 0;

  absl::StatusOr<const StepResult*> Run(const StepBatch& batch) {
    RETURN_IF_ERROR(Launch(batch));
    return Finish();
  }

  virtual int64_t max_context() const = 0;  // Tokens of a sequence.
  virtual int64_t vocabulary() const = 0;
  virtual Hardware hardware() const = 0;
  virtual Counters counters() const = 0;
  // Of the keys and values of all sequences together.
  virtual int64_t kv_bytes() const = 0;
  // Of what mixers without keys and values remember, in all sequences under way,
  virtual int64_t recurrent_bytes() const { return 0; }
  // and in the snapshots of it that sequences can go back to.
  virtual int64_t snapshot_bytes() const { return 0; }
  // Of activations, as much as the largest step so far needed.
  virtual int64_t workspace_bytes() const = 0;

  // Tokens of a prompt to feed in one step: as EngineOptions says.
  virtual int64_t prompt_batch() const = 0;

  // Around the steps of a prompt, and after its first token was drawn, for whoever places experts.
  // A GPU may compute the steps of prompts in an order of their own; no other result depends on
  // these.
  virtual void BeginPrompt() = 0;
  virtual void EndPrompt() = 0;
  virtual void FirstTokenOut() = 0;
};

}  // namespace strata

#endif  // STRATA_GENERATE_ENGINE_ENGINE_H_
