#include "strata/generate/tokenize_command.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/error.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/status_macros.h"
#include "strata/core/utf8.h"
#include "strata/generate/tokenizer/detokenizer.h"
#include "strata/generate/tokenizer/load_tokenizer.h"
#include "strata/generate/tokenizer/text_piece.h"
#include "strata/generate/tokenizer/token_id.h"
#include "strata/generate/tokenizer/tokenizer.h"

namespace strata {
namespace {

// All bytes of a file, a pipe or a terminal. `name` is for errors.
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

absl::StatusOr<std::string> ReadInput(const std::string& path) {
  if (path == "-") return ReadToEnd(STDIN_FILENO, "stdin");
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return IoError(path, "cannot open", errno);
  const absl::Cleanup closer = [fd] { close(fd); };
  return ReadToEnd(fd, path);
}

absl::StatusOr<std::unique_ptr<Tokenizer>> OpenTokenizer(const std::string& model) {
  ASSIGN_OR_RETURN(const std::unique_ptr<GgufFile> file, GgufFile::Open(model));
  return LoadTokenizer(*file);
}

absl::StatusOr<std::vector<TokenId>> ParseIds(absl::string_view text, absl::string_view file,
                                              int32_t num_tokens) {
  std::vector<TokenId> ids;
  for (const absl::string_view word :
       absl::StrSplit(text, absl::ByAnyChar(" \t\r\n\f\v"), absl::SkipEmpty())) {
    TokenId id = 0;
    if (!absl::SimpleAtoi(word, &id) || id < 0 || id >= num_tokens) {
      constexpr size_t kShownBytes = 40;
      return InputError(
          "token_ids", file,
          absl::StrCat("number ", ids.size() + 1, " of the ids is \"", Printable(word, kShownBytes),
                       "\", which is none of 0 to ", num_tokens - 1));
    }
    ids.push_back(id);
  }
  return ids;
}

}  // namespace

absl::Status Tokenize(const TokenizeOptions& options) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer, OpenTokenizer(options.model));
  ASSIGN_OR_RETURN(const std::string text, ReadInput(options.input));
  const SpecialText special_text =
      options.parse_special ? SpecialText::kIsToken : SpecialText::kIsPlainText;
  ASSIGN_OR_RETURN(const std::vector<TokenId> ids, tokenizer->Encode(text, special_text));
  if (options.json) {
    PrintJson({{"ids", ids}});
  } else {
    std::cout << absl::StrJoin(ids, " ") << "\n";
  }
  return absl::OkStatus();
}

absl::Status Detokenize(const TokenizeOptions& options) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer, OpenTokenizer(options.model));
  ASSIGN_OR_RETURN(const std::string input, ReadInput(options.input));
  const std::string name = options.input == "-" ? "stdin" : options.input;
  ASSIGN_OR_RETURN(const std::vector<TokenId> ids, ParseIds(input, name, tokenizer->num_tokens()));
  std::string text = Decode(*tokenizer, ids);
  if (options.json) {
    PrintJson({{"text", std::move(text)}});
  } else {
    std::cout << text;
  }
  return absl::OkStatus();
}

}  // namespace strata
