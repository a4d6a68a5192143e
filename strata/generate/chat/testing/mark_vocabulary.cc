#include "strata/generate/chat/testing/mark_vocabulary.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "strata/core/utf8.h"
#include "strata/generate/tokenizer/byte_alphabet.h"
#include "strata/generate/tokenizer/vocabulary.h"

namespace strata {
namespace {

class TokenList {
 public:
  // A text that is there already stays what it is.
  void Add(const std::string& text, TokenType type) {
    if (!known_.insert(text).second) return;
    tokens_.push_back(text);
    types_.push_back(static_cast<int32_t>(type));
  }

  void AddMarks(const std::vector<std::string>& marks) {
    constexpr TokenType kTypes[] = {TokenType::kControl, TokenType::kUserDefined,
                                    TokenType::kNormal};
    for (size_t i = 0; i < marks.size(); ++i) Add(marks[i], kTypes[i % 3]);
  }

  void Write(absl::string_view model, GgufWriter& file) const {
    file.Key("tokenizer.ggml.model", model)
        .Key("tokenizer.ggml.tokens", tokens_)
        .Key("tokenizer.ggml.token_type", types_)
        .Key("tokenizer.ggml.bos_token_id", uint32_t{0})
        .Key("tokenizer.ggml.eos_token_id", uint32_t{1})
        .Key("tokenizer.ggml.add_bos_token", false);
  }

 private:
  std::vector<std::string> tokens_;
  std::vector<int32_t> types_;
  std::set<std::string> known_;
};

TokenList BeginAndEnd() {
  TokenList list;
  list.Add("<s>", TokenType::kControl);
  list.Add("</s>", TokenType::kControl);
  return list;
}

}  // namespace

void AddBytePairTokenizer(const std::vector<std::string>& marks, GgufWriter& file) {
  TokenList list = BeginAndEnd();
  list.AddMarks(marks);
  for (int byte = 0; byte < 256; ++byte) {
    list.Add(SpellingOfBytes(std::string(1, static_cast<char>(byte))), TokenType::kNormal);
  }
  std::vector<std::string> merges;
  for (const auto& [left, right] :
       {std::pair("\n", "\n"), std::pair(" ", "t"), std::pair("h", "e"), std::pair("<", "|"),
        std::pair("|", ">"), std::pair("e", "r")}) {
    const std::string a = SpellingOfBytes(left);
    const std::string b = SpellingOfBytes(right);
    merges.push_back(absl::StrCat(a, " ", b));
    list.Add(a + b, TokenType::kNormal);
  }
  list.Write("gpt2", file);
  file.Key("tokenizer.ggml.pre", "qwen2").Key("tokenizer.ggml.merges", merges);
}

void AddSentencePieceTokenizer(const std::vector<std::string>& marks, GgufWriter& file) {
  TokenList list = BeginAndEnd();
  list.Add("<unk>", TokenType::kUnknown);
  list.AddMarks(marks);
  for (int byte = 0; byte < 256; ++byte) {
    list.Add(absl::StrFormat("<0x%02X>", byte), TokenType::kByte);
  }
  for (const std::string& mark : marks) {
    for (size_t end = 0; end < mark.size();) {
      end += FirstUtf8Character(absl::string_view(mark).substr(end)).num_bytes;
      list.Add(mark.substr(0, end), TokenType::kNormal);
    }
  }
  list.Write("llama", file);
}

}  // namespace strata
