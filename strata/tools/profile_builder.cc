#include "strata/tools/profile_builder.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "strata/cache/experts/model_identity.h"
#include "strata/cache/experts/routed_step.h"
#include "strata/cache/profile/expert_profile.h"
#include "strata/core/checksum.h"
#include "strata/core/cli/progress.h"
#include "strata/core/little_endian.h"
#include "strata/core/note.h"
#include "strata/core/status_macros.h"
#include "strata/generate/engine/sequence.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/loading/text_model.h"
#include "strata/generate/placement/routing_recorder.h"
#include "strata/generate/tokenizer/text_piece.h"
#include "strata/generate/tokenizer/token_id.h"
#include "strata/generate/tokenizer/tokenizer.h"
#include "strata/tools/context_pieces.h"
#include "strata/tools/profile_checkpoint.h"
#include "strata/tools/profile_texts.h"

namespace strata {
namespace {

int64_t TextBytes(absl::Span<const ProfileText> texts) {
  int64_t bytes = 0;
  for (const ProfileText& text : texts) bytes += static_cast<int64_t>(text.text.size());
  return bytes;
}

}  // namespace

ProfileBuilder::ProfileBuilder(TextModel& model, const ModelIdentity& identity,
                               const Options& options)
    : model_(model),
      identity_(identity),
      options_(options),
      max_context_(options.max_context > 0
                       ? std::min(options.max_context, model.engine().max_context())
                       : model.engine().max_context()),
      saved_at_(Clock::now()) {}

Checksum ProfileBuilder::JobOf(const std::vector<ProfileText>& texts) const {
  LittleEndianWriter job;
  identity_.AppendTo(job);
  job.Number(max_context_).Number(options_.max_tokens).Number(uint64_t{texts.size()});
  ChecksumBuilder checksum;
  checksum.Add(job.bytes());
  for (const ProfileText& text : texts) {
    LittleEndianWriter record;
    record.Number(uint64_t{text.source.size()}).Raw(text.source);
    record.Number(uint64_t{text.text.size()}).Raw(text.text);
    checksum.Add(record.bytes());
  }
  return checksum.Finish();
}

absl::StatusOr<ExpertProfile> ProfileBuilder::Build(const std::vector<ProfileText>& texts) {
  RETURN_IF_ERROR(ProfileCheckpoint::CheckPlace(options_.checkpoint_path));
  const Checksum job = JobOf(texts);
  ProfileCheckpoint done = {.job = job, .profile = ExpertProfile(identity_)};
  if (auto before = ProfileCheckpoint::Load(options_.checkpoint_path, job); before.has_value()) {
    done = *std::move(before);
    Note(absl::StrCat(options_.checkpoint_path, ": going on after ", done.num_texts, " of ",
                      texts.size(), " texts and ", done.num_contexts, " contexts of the next"));
  }
  // First of all, so that a long run does not end in a path that cannot be written.
  RETURN_IF_ERROR(done.Save(options_.checkpoint_path));
  const absl::Span<const ProfileText> rest =
      absl::MakeConstSpan(texts).subspan(std::min<size_t>(done.num_texts, texts.size()));
  Progress progress({.label = "profiling texts",
                     .total = TextBytes(rest),
                     .unit = Progress::Unit::kBytes,
                     .counted = "tokens",
                     .says_start = true});
  for (const ProfileText& text : rest) {
    RETURN_IF_ERROR(AddText(text, done, progress));
  }
  RETURN_IF_ERROR(done.Save(options_.checkpoint_path));
  return std::move(done.profile);
}

absl::StatusOr<std::vector<std::vector<TokenId>>> ProfileBuilder::Pieces(
    const std::string& text) const {
  if (text.empty()) return std::vector<std::vector<TokenId>>();
  ASSIGN_OR_RETURN(const Tokenizer* tokenizer, model_.NeedTokenizer());
  ASSIGN_OR_RETURN(const std::vector<TokenId> ids,
                   tokenizer->Encode(text, SpecialText::kIsPlainText));
  absl::Span<const TokenId> taken = ids;
  if (options_.max_tokens > 0) taken = taken.subspan(0, static_cast<size_t>(options_.max_tokens));
  return CutIntoContexts(taken, max_context_,
                         tokenizer->adds_bos() ? tokenizer->bos() : std::nullopt);
}

absl::Status ProfileBuilder::AddText(const ProfileText& text, ProfileCheckpoint& done,
                                     Progress& progress) {
  ASSIGN_OR_RETURN(const std::vector<std::vector<TokenId>> pieces, Pieces(text.text));
  const auto bytes = static_cast<int64_t>(text.text.size());
  int64_t num_tokens = 0, num_read = 0, shown = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    num_tokens += std::ssize(pieces[i]);
    if (i < done.num_contexts) num_read += std::ssize(pieces[i]);
  }
  const auto read = [&](int64_t tokens) {
    num_read += tokens;
    progress.Count(tokens);
    const int64_t bytes_read = bytes * num_read / num_tokens;
    progress.Add(bytes_read - std::exchange(shown, bytes_read));
  };
  while (done.num_contexts < pieces.size()) {
    ExpertProfile part(identity_);
    RETURN_IF_ERROR(RunPiece(pieces[done.num_contexts], part, read));
    RETURN_IF_ERROR(done.profile.Merge(part));
    ++done.num_contexts;
    if (done.num_contexts < pieces.size()) RETURN_IF_ERROR(SaveIfDue(done));
  }
  progress.Add(bytes - shown);
  done.profile.AddSource(text.source);
  ++done.num_texts;
  done.num_contexts = 0;
  return SaveIfDue(done);
}

absl::Status ProfileBuilder::RunPiece(absl::Span<const TokenId> piece, ExpertProfile& profile,
                                      absl::FunctionRef<void(int64_t)> read) {
  Sequence sequence(model_.engine());
  RoutingRecorder recorder(identity_.geometry, {.profile = &profile});
  while (!piece.empty()) {
    const auto batch = piece.subspan(0, static_cast<size_t>(options_.prompt_batch));
    const int64_t first_position = sequence.position();
    ASSIGN_OR_RETURN(const StepResult* result, sequence.Feed(batch, {}));
    recorder.AddStep(first_position, result->routing, RoutedStep::Kind::kPrompt);
    read(std::ssize(batch));
    piece.remove_prefix(batch.size());
  }
  return absl::OkStatus();
}

absl::Status ProfileBuilder::SaveIfDue(const ProfileCheckpoint& done) {
  if (Clock::now() - saved_at_ < options_.checkpoint_period) return absl::OkStatus();
  RETURN_IF_ERROR(done.Save(options_.checkpoint_path));
  saved_at_ = Clock::now();
  return absl::OkStatus();
}

}  // namespace strata
