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
#include "strata/generate/engine/rows.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {

absl::string_view NameOf(StopReason reason) {
  switch (reason) {
    case StopReason::kEos:
      return "eos";
    case StopReason::kLength:
      return "length";
    case StopReason::kStop:
      return "stop";
    case StopReason::kInterrupt:
      return "interrupt";
  }
  LOG(FATAL) << "no such stop reason: " << static_cast<int>(reason);
}

Generator::Generator(Engine& engine, const Options& options)
    : engine_(engine), options_(options), sampler_(options.sampling) {
  CHECK_GE(options.prompt_batch, 1);
}

absl::StatusOr<Generation> Generator::Run(absl::Span<const TokenId> prompt,
                                          const Callbacks& callbacks) {
  CHECK(!prompt.empty());
  CHECK_LE(static_cast<int64_t>(prompt.size()), engine_.max_context());
  // Whether there will be a first token or not: nothing waits for it any longer.
  const absl::Cleanup no_more_tokens = [this] { engine_.FirstTokenOut(); };
  const Clock::time_point start = Clock::now();
  Generation generation = {.num_prompt = static_cast<int64_t>(prompt.size())};
  ASSIGN_OR_RETURN(const bool is_fed, RunPrompt(prompt, callbacks, generation));
  generation.prompt_time = Clock::now() - start;
  if (!is_fed) {
    generation.stop_reason = StopReason::kInterrupt;
    return generation;
  }
  const Clock::time_point decode_start = Clock::now();
  RETURN_IF_ERROR(Decode(callbacks, generation));
  generation.decode_time = Clock::now() - decode_start;
  return generation;
}

absl::StatusOr<bool> Generator::RunPrompt(absl::Span<const TokenId> prompt,
                                          const Callbacks& callbacks, Generation& generation) {
  engine_.BeginPrompt();
  const absl::StatusOr<bool> is_fed = FeedPrompt(prompt, callbacks, generation);
  engine_.EndPrompt();
  return is_fed;
}

absl::StatusOr<bool> Generator::FeedPrompt(absl::Span<const TokenId> prompt,
                                           const Callbacks& callbacks, Generation& generation) {
  // The last token is always fed: its logits are needed.
  const size_t reusable = options_.keep_logits ? 0 : std::min(fed_.size(), prompt.size() - 1);
  const size_t known =
      std::mismatch(fed_.begin(), fed_.begin() + reusable, prompt.begin()).first - fed_.begin();
  fed_.resize(engine_.Rewind(static_cast<int64_t>(known)));
  prompt.remove_prefix(fed_.size());
  generation.num_prompt_fed = static_cast<int64_t>(prompt.size());
  while (!prompt.empty()) {
    if (callbacks.is_interrupted && callbacks.is_interrupted()) return false;
    const absl::Span<const TokenId> batch =
        prompt.subspan(0, static_cast<size_t>(options_.prompt_batch));
    RETURN_IF_ERROR(Feed(batch, batch.size() == prompt.size(), generation));
    prompt.remove_prefix(batch.size());
  }
  return true;
}

absl::Status Generator::Feed(absl::Span<const TokenId> tokens, bool is_last,
                             Generation& generation) {
  const Engine::Want want = options_.keep_logits ? Engine::Want::kAllLogits
                            : is_last            ? Engine::Want::kLastLogits
                                                 : Engine::Want::kNothing;
  ASSIGN_OR_RETURN(const Rows* rows, engine_.Step(tokens, want));
  fed_.insert(fed_.end(), tokens.begin(), tokens.end());
  if (want == Engine::Want::kNothing) return absl::OkStatus();
  const absl::Span<const float> last = rows->row(rows->count() - 1);
  last_logits_.assign(last.begin(), last.end());
  if (!options_.keep_logits) return absl::OkStatus();
  for (int64_t i = 0; i < rows->count(); ++i) {
    generation.logits.insert(generation.logits.end(), rows->row(i).begin(), rows->row(i).end());
  }
  return absl::OkStatus();
}

absl::Status Generator::Decode(const Callbacks& callbacks, Generation& generation) {
  const Clock::time_point start = Clock::now();
  while (!EndsBeforeDraw(callbacks, generation)) {
    ASSIGN_OR_RETURN(const TokenId token, sampler_.Sample(last_logits_, fed_));
    if (generation.ids.empty()) {
      generation.first_token_time = generation.prompt_time + (Clock::now() - start);
    }
    generation.ids.push_back(token);
    const bool ends = EndsAfter(token, callbacks, generation);
    if (generation.ids.size() == 1) engine_.FirstTokenOut();
    // The last token's logits are of no use but to who keeps them all.
    if (ends && !options_.keep_logits) return absl::OkStatus();
    RETURN_IF_ERROR(Feed({token}, /*is_last=*/true, generation));
    if (ends) return absl::OkStatus();
  }
  return absl::OkStatus();
}

bool Generator::EndsBeforeDraw(const Callbacks& callbacks, Generation& generation) const {
  if (callbacks.is_interrupted && callbacks.is_interrupted()) {
    generation.stop_reason = StopReason::kInterrupt;
    return true;
  }
  generation.stop_reason = StopReason::kLength;
  return IsFull(generation) || engine_.position() >= engine_.max_context();
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
