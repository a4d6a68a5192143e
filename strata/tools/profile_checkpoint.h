// What a long build of a profile has done so far, in a file beside the one it will write
// (docs/formats.md): a build that was killed goes on from there.
#ifndef STRATA_TOOLS_PROFILE_CHECKPOINT_H_
#define STRATA_TOOLS_PROFILE_CHECKPOINT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "strata/cache/profile/expert_profile.h"
#include "strata/core/checksum.h"

namespace strata {

struct ProfileCheckpoint {
  // Of all that decides the result: model, texts and settings.
  Checksum job;
  uint64_t num_texts = 0;     // Done as a whole,
  uint64_t num_contexts = 0;  // and of the text after them.
  ExpertProfile profile;      // What they add up to.

  // Whole or not at all; the errors of AtomicFile.
  absl::Status Save(const std::string& path) const;
  // An InputError (bad_magic, io) when there is a file at `path` that is nothing of the kind: it is
  // somebody else's, and not to be written over.
  static absl::Status CheckPlace(const std::string& path);
  // None when there is no such file; neither when it is damaged or of another job, which the log
  // says: the work starts anew.
  static std::optional<ProfileCheckpoint> Load(const std::string& path, const Checksum& job);
};

}  // namespace strata

#endif  // STRATA_TOOLS_PROFILE_CHECKPOINT_H_
