// Runs texts through a model and counts which experts they go to.
//
// Each text starts from an empty context; one that is longer than the context is cut, and each
// piece starts from an empty one, with BOS where the model wants it. How tokens are cut into
// batches and how many threads compute changes no count. Used by one thread.
#ifndef STRATA_TOOLS_PROFILE_BUILDER_H_
#define STRATA_TOOLS_PROFILE_BUILDER_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/cache/experts/model_identity.h"
#include "strata/cache/profile/expert_profile.h"
#include "strata/core/checksum.h"
#include "strata/core/cli/progress.h"
#include "strata/generate/loading/text_model.h"
#include "strata/generate/tokenizer/token_id.h"
#include "strata/tools/profile_checkpoint.h"
#include "strata/tools/profile_texts.h"

namespace strata {

class ProfileBuilder {
 public:
  struct Options {
    int64_t prompt_batch = 64;  // Tokens computed at once.
    int64_t max_context = 0;    // Tokens of a piece, at most; 0: what the model allows.
    int64_t max_tokens = 0;     // Of each text, the first so many; 0: all.
    // Where to keep what is done so far, at the end of a piece, at least so long after the last
    // time.
    std::string checkpoint_path;
    std::chrono::seconds checkpoint_period{30};
  };

  // `identity` is `model`'s, which outlives the builder.
  ProfileBuilder(TextModel& model, const ModelIdentity& identity, const Options& options);

  // Goes on where the checkpoint left off, shows progress on stderr, and leaves the checkpoint of a
  // finished job behind. Errors are those of the tokenizer, the engine and AtomicFile.
  absl::StatusOr<ExpertProfile> Build(const std::vector<ProfileText>& texts);

 private:
  using Clock = std::chrono::steady_clock;

  // What decides the result.
  Checksum JobOf(const std::vector<ProfileText>& texts) const;
  // The tokens of each piece.
  absl::StatusOr<std::vector<std::vector<TokenId>>> Pieces(const std::string& text) const;
  // Adds the pieces of `text` that done.num_contexts leaves.
  absl::Status AddText(const ProfileText& text, ProfileCheckpoint& done, Progress& progress);
  // `read` is told of tokens as they are done.
  absl::Status RunPiece(absl::Span<const TokenId> piece, ExpertProfile& profile,
                        absl::FunctionRef<void(int64_t)> read);
  absl::Status SaveIfDue(const ProfileCheckpoint& done);

  TextModel& model_;
  const ModelIdentity identity_;
  const Options options_;
  const int64_t max_context_;
  Clock::time_point saved_at_;
};

}  // namespace strata

#endif  // STRATA_TOOLS_PROFILE_BUILDER_H_
