#include "strata/generate/commands/text_input.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "strata/core/error.h"
#include "strata/core/file_descriptor.h"
#include "strata/core/printable.h"
#include "strata/core/status_macros.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {
namespace {

// `name` is for errors.
absl::StatusOr<std::string> ReadToEnd(int fd, absl::string_view name) {
  constexpr size_t kPieceBytes = 1 << 16;
  std::string bytes;
  while (true) {
    const size_t size = bytes.size();
    bytes.resize(size + kPieceBytes);
    const ssize_t num_read = read(fd, bytes.data() + size, kPieceBytes);
    if (num_read < 0 && errno != EINTR) return IoError(name, "cannot read", errno);
    bytes.resize(size + static_cast<size_t>(std::max<ssize_t>(num_read, 0)));
    if (num_read == 0) return bytes;
  }
}

}  // namespace

absl::StatusOr<std::string> ReadText(const std::string& path) {
  if (path == "-") return ReadToEnd(STDIN_FILENO, "stdin");
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return IoError(path, "cannot open", errno);
  return ReadToEnd(file.get(), path);
}

absl::StatusOr<std::vector<TokenId>> ReadTokenIds(const std::string& path, int64_t num_tokens) {
  ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  std::vector<TokenId> ids;
  for (const absl::string_view word :
       absl::StrSplit(text, absl::ByAnyChar(" \t\r\n\f\v"), absl::SkipEmpty())) {
    TokenId id = 0;
    if (!absl::SimpleAtoi(word, &id) || id < 0 || id >= num_tokens) {
      constexpr size_t kShownBytes = 40;
      return InputError(
          "token_ids", path == "-" ? "stdin" : path,
          absl::StrCat("number ", ids.size() + 1, " of the ids is \"", Printable(word, kShownBytes),
                       "\", which is none of 0 to ", num_tokens - 1));
    }
    ids.push_back(id);
  }
  return ids;
}

}  // namespace strata
