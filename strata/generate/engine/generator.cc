#include "strata/generate/engine/generator.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/core/status_macros.h"
#include "strata/generate/engine/engine.h"
#include "strata/generate/engine/sequence.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {

absl::string_view NameOf(StopReason reason) {
  switch (reason) {
    case StopReason::kEos:
      return "eos";
    case StopReason::kLength:
      return "length";
    case StopReason::kContext:
      return "context";
    case StopReason::kStop:
      return "stop";
    case StopReason::kInterrupt:
      return "interrupt";
  }
  LOG(FATAL) << "no such stop reason: " << static_cast<int>(reason);
}

Generator::Generator(Engine& engine, const Options& options)
    : engine_(engine), options_(options), sequence_(engine, options.sampling) {
  CHECK_GE(options.prompt_batch, 1);
}

absl::StatusOr<Generation> Generator::Run(absl::Span<const TokenId> prompt,
                                          const Callbacks& callbacks) {
  CHECK(!prompt.empty());
  CHECK_LE(static_cast<int64_t>(prompt.size()), engine_.max_context());
  // Whether there will be a first token or not: nothing waits for it any longer.
  const absl::Cleanup no_more_tokens = [this] { engine_.FirstTokenOut(); };
  Generation generation = {.num_prompt = static_cast<int64_t>(prompt.size())};
  const Clock::time_point start = Clock::now();
  engine_.BeginPrompt();
  absl::Status status = FeedPrompt(prompt, callbacks, generation);
  engine_.EndPrompt();
  const Clock::time_point decode_start = Clock::now();
  generation.prompt_time = decode_start - start;
  if (status.ok()) {
    status = Decode(callbacks, generation);
    generation.decode_time = Clock::now() - decode_start;
  }
  if (absl::IsCancelled(status)) {
    generation.stop_reason = StopReason::kInterrupt;
    return generation;
  }
  RETURN_IF_ERROR(status);
  return generation;
}

absl::Status Generator::FeedPrompt(absl::Span<const TokenId> prompt, const Callbacks& callbacks,
                                   Generation& generation) {
  // The last token is always fed: what follows it is wanted.
  const absl::Span<const TokenId> fed = sequence_.ids();
  const size_t reusable = options_.keep_logits ? 0 : std::min(fed.size(), prompt.size() - 1);
  const size_t known =
      std::mismatch(fed.begin(), fed.begin() + reusable, prompt.begin()).first - fed.begin();
  prompt.remove_prefix(static_cast<size_t>(sequence_.Rewind(static_cast<int64_t>(known))));
  generation.num_prompt_fed = static_cast<int64_t>(prompt.size());
  RETURN_IF_ERROR(sequence_.MakeRoom(generation.num_prompt_fed));
  while (!prompt.empty()) {
    const absl::Span<const TokenId> batch =
        prompt.subspan(0, static_cast<size_t>(options_.prompt_batch));
    RETURN_IF_ERROR(Feed(batch, batch.size() == prompt.size(), callbacks, generation));
    prompt.remove_prefix(batch.size());
  }
  return absl::OkStatus();
}

absl::Status Generator::Feed(absl::Span<const TokenId> tokens, bool is_last,
                             const Callbacks& callbacks, Generation& generation) {
  const bool can_stop = callbacks.is_interrupted != nullptr;
  if (can_stop && callbacks.is_interrupted()) return absl::CancelledError("interrupted");
  ASSIGN_OR_RETURN(const StepResult* result,
                   sequence_.Feed(tokens,
                                  {.logits = options_.keep_logits ? Sequence::Want::kAll
                                                                  : Sequence::Want::kNothing,
                                   .draws = is_last && !IsFull(generation)},
                                  can_stop ? &callbacks.is_interrupted : nullptr));
  if (!result->drawn.empty()) drawn_ = result->drawn.front();
  for (const absl::Span<const float> row : result->logits) {
    generation.logits.insert(generation.logits.end(), row.begin(), row.end());
  }
  return absl::OkStatus();
}

absl::Status Generator::Decode(const Callbacks& callbacks, Generation& generation) {
  while (!EndsBefore(generation)) {
    const TokenId token = drawn_;
    if (generation.ids.empty()) generation.first_token_time = generation.prompt_time;
    generation.ids.push_back(token);
    const bool ends = EndsAfter(token, callbacks, generation);
    if (generation.ids.size() == 1) engine_.FirstTokenOut();
    // The last token's logits are of no use but to who keeps them all.
    if (ends && !options_.keep_logits) return absl::OkStatus();
    RETURN_IF_ERROR(Feed({token}, /*is_last=*/!ends, callbacks, generation));
    if (ends) return absl::OkStatus();
  }
  return absl::OkStatus();
}

bool Generator::EndsBefore(Generation& generation) const {
  const bool has_room = sequence_.position() < engine_.max_context();
  generation.stop_reason =
      has_room || IsFull(generation) ? StopReason::kLength : StopReason::kContext;
  return IsFull(generation) || !has_room;
}

bool Generator::EndsAfter(TokenId token, const Callbacks& callbacks, Generation& generation) const {
  if (callbacks.ends_text && callbacks.ends_text(token)) {
    generation.stop_reason = StopReason::kEos;
    return true;
  }
  if (callbacks.on_token && !callbacks.on_token(token)) {
    generation.stop_reason = StopReason::kStop;
    return true;
  }
  generation.stop_reason = StopReason::kLength;
  return IsFull(generation);
}

bool Generator::IsFull(const Generation& generation) const {
  return static_cast<int64_t>(generation.ids.size()) >= options_.max_new;
}

}  // namespace strata
