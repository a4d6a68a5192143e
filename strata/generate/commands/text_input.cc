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
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "strata/core/error.h"
#include "strata/core/file_descriptor.h"
#include "strata/core/note.h"
#include "strata/core/printable.h"
#include "strata/core/status_macros.h"
#include "strata/core/utf8.h"
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

constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";

std::string NameOf(const std::string& path) { return path == "-" ? "stdin" : path; }

// "" for text of single bytes. Without a mark, Latin text of two bytes a character has a zero in
// every other one.
absl::string_view WideEncoding(absl::string_view bytes) {
  const auto begins = [bytes](absl::string_view mark) { return absl::StartsWith(bytes, mark); };
  if (begins(absl::string_view("\xff\xfe\0\0", 4)) ||
      begins(absl::string_view("\0\0\xfe\xff", 4))) {
    return "UTF-32";
  }
  if (begins("\xff\xfe") || begins("\xfe\xff")) return "UTF-16";
  if (bytes.size() < 4 || bytes.size() % 2 != 0) return "";
  constexpr size_t kLookedAt = 64;
  size_t num_zeros[2] = {0, 0};
  const absl::string_view start = bytes.substr(0, kLookedAt);
  for (size_t i = 0; i < start.size(); ++i) num_zeros[i % 2] += start[i] == 0 ? 1 : 0;
  const bool is_wide =
      (num_zeros[0] == 0) != (num_zeros[1] == 0) && num_zeros[0] + num_zeros[1] > start.size() / 4;
  return is_wide ? "UTF-16" : "";
}

}  // namespace

absl::StatusOr<std::string> ReadText(const std::string& path) {
  if (path == "-") return ReadToEnd(STDIN_FILENO, "stdin");
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return IoError(path, "cannot open", errno);
  return ReadToEnd(file.get(), path);
}

absl::StatusOr<std::string> ReadPrompt(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadText(path));
  const absl::string_view encoding = WideEncoding(bytes);
  if (!encoding.empty()) {
    return InputError("prompt_encoding", NameOf(path),
                      absl::StrCat("the text is ", encoding, "; save it as UTF-8"));
  }
  absl::string_view text = bytes;
  absl::ConsumePrefix(&text, kByteOrderMark);
  if (absl::ConsumeSuffix(&text, "\n")) absl::ConsumeSuffix(&text, "\r");
  if (!IsUtf8(text)) {
    Note(absl::StrCat(
        NameOf(path),
        " is not all UTF-8: each byte that belongs to no character is read as U+FFFD"));
  }
  return std::string(text);
}

absl::StatusOr<std::vector<TokenId>> ReadTokenIds(const std::string& path, int64_t num_tokens) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadText(path));
  absl::string_view text = bytes;
  absl::ConsumePrefix(&text, kByteOrderMark);
  std::vector<TokenId> ids;
  for (const absl::string_view word :
       absl::StrSplit(text, absl::ByAnyChar(" \t\r\n\f\v"), absl::SkipEmpty())) {
    TokenId id = 0;
    if (!absl::SimpleAtoi(word, &id) || id < 0 || id >= num_tokens) {
      constexpr size_t kShownBytes = 40;
      return InputError(
          "token_ids", NameOf(path),
          absl::StrCat("number ", ids.size() + 1, " of the ids is \"", Printable(word, kShownBytes),
                       "\", which is none of 0 to ", num_tokens - 1));
    }
    ids.push_back(id);
  }
  return ids;
}

}  // namespace strata
