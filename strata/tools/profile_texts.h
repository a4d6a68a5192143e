// The texts that a profile is built from: files, and the lines of a file of prompts.
#ifndef STRATA_TOOLS_PROFILE_TEXTS_H_
#define STRATA_TOOLS_PROFILE_TEXTS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace strata {

struct ProfileText {
  std::string source;  // The label of the file that it is from.
  std::string text;
};

// The texts i, i + n, i + 2n ... of all, for machines that share the work.
struct ProfileShard {
  size_t index = 1;  // From 1.
  size_t count = 1;
  // "1/4" to "4/4"; an error is the command line's.
  static absl::StatusOr<ProfileShard> Parse(absl::string_view text);
};

// A label of what was read: the file's name without its folder, and a hash of its content.
std::string SourceLabel(absl::string_view path, absl::Span<const std::byte> content);

// Those of the shard, files first, then prompts: the lines of `prompts` that are not empty, if it
// is a path. "-" is stdin. Kind io.
absl::StatusOr<std::vector<ProfileText>> ReadProfileTexts(const std::vector<std::string>& files,
                                                          const std::string& prompts,
                                                          const ProfileShard& shard);

}  // namespace strata

#endif  // STRATA_TOOLS_PROFILE_TEXTS_H_
