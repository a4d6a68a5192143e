#include "strata/generate/commands/tokenize_command.h"

#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/status_macros.h"
#include "strata/generate/commands/text_input.h"
#include "strata/generate/tokenizer/detokenizer.h"
#include "strata/generate/tokenizer/load_tokenizer.h"
#include "strata/generate/tokenizer/text_piece.h"
#include "strata/generate/tokenizer/token_id.h"
#include "strata/generate/tokenizer/tokenizer.h"

namespace strata {
namespace {

absl::StatusOr<std::unique_ptr<Tokenizer>> OpenTokenizer(const std::string& model) {
  ASSIGN_OR_RETURN(const std::unique_ptr<GgufFile> file, GgufFile::Open(model));
  return LoadTokenizer(*file);
}

}  // namespace

absl::Status Tokenize(const TokenizeOptions& options) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer, OpenTokenizer(options.model));
  ASSIGN_OR_RETURN(const std::string text, ReadText(options.input));
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
  ASSIGN_OR_RETURN(const std::vector<TokenId> ids,
                   ReadTokenIds(options.input, tokenizer->num_tokens()));
  std::string text = Decode(*tokenizer, ids);
  if (options.json) {
    PrintJson({{"text", std::move(text)}});
  } else {
    std::cout << text;
  }
  return absl::OkStatus();
}

}  // namespace strata
