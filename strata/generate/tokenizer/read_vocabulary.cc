#include "strata/generate/tokenizer/read_vocabulary.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "strata/core/error.h"
#include "strata/core/gguf/gguf_value.h"
#include "strata/core/status_macros.h"
#include "strata/generate/tokenizer/special_id_names.h"

namespace strata {
namespace {

class VocabularyReader {
 public:
  explicit VocabularyReader(const GgufFile& file) : file_(file) { vocabulary_.file = file.path(); }

  absl::StatusOr<Vocabulary> Read() {
    RETURN_IF_ERROR(ReadModel());
    ASSIGN_OR_RETURN(vocabulary_.tokens, ReadStrings("tokens"));
    if (vocabulary_.model == Vocabulary::Model::kBytePairs) {
      ASSIGN_OR_RETURN(vocabulary_.merges, ReadStrings("merges"));
      RETURN_IF_ERROR(ReadPreTokenizer());
    }
    RETURN_IF_ERROR(ReadTypes());
    RETURN_IF_ERROR(ReadScores());
    for (const SpecialIdName& special : kSpecialIdNames) {
      RETURN_IF_ERROR(ReadSpecialId(special));
    }
    ASSIGN_OR_RETURN(vocabulary_.add_bos, ReadBool("add_bos_token"));
    ASSIGN_OR_RETURN(vocabulary_.add_eos, ReadBool("add_eos_token"));
    ASSIGN_OR_RETURN(vocabulary_.add_space_prefix, ReadBool("add_space_prefix"));
    return std::move(vocabulary_);
  }

 private:
  static std::string KeyOf(absl::string_view name) { return absl::StrCat("tokenizer.ggml.", name); }

  const GgufValue* Find(absl::string_view name) const { return file_.FindKey(KeyOf(name)); }

  absl::Status Error(absl::string_view kind, absl::string_view name,
                     absl::string_view problem) const {
    return InputError(kind, file_.path(), absl::StrCat(KeyOf(name), " ", problem));
  }

  absl::Status WrongType(absl::string_view name, GgufType found, absl::string_view wanted) const {
    return Error("key_type", name,
                 absl::StrCat("is of type ", NameOf(found), ", where ", wanted, " is needed"));
  }

  absl::StatusOr<std::optional<std::string>> ReadString(absl::string_view name) const {
    const GgufValue* value = Find(name);
    if (value == nullptr) return std::optional<std::string>();
    const std::optional<absl::string_view> text = value->AsString();
    if (!text) return WrongType(name, value->type(), "a string");
    return std::optional<std::string>(*text);
  }

  absl::StatusOr<std::optional<bool>> ReadBool(absl::string_view name) const {
    const GgufValue* value = Find(name);
    if (value == nullptr) return std::optional<bool>();
    const std::optional<bool> flag = value->AsBool();
    if (!flag) return WrongType(name, value->type(), "a bool");
    return flag;
  }

  absl::Status ReadModel() {
    ASSIGN_OR_RETURN(const std::optional<std::string> model, ReadString("model"));
    if (!model) return Error("tokenizer_missing", "model", "is not there");
    if (*model == "gpt2") {
      vocabulary_.model = Vocabulary::Model::kBytePairs;
    } else if (*model == "llama") {
      vocabulary_.model = Vocabulary::Model::kSentencePiece;
    } else {
      return Error(
          "tokenizer_model", "model",
          absl::StrCat("is \"", absl::CHexEscape(*model),
                       "\"; \"gpt2\" (byte pairs) and \"llama\" (SentencePiece) are known"));
    }
    return absl::OkStatus();
  }

  absl::Status ReadPreTokenizer() {
    ASSIGN_OR_RETURN(const std::optional<std::string> pre, ReadString("pre"));
    if (pre) {
      vocabulary_.pre = *pre;
    } else {
      LOG(WARNING) << file_.path()
                   << ": tokenizer.ggml.pre is not there, so text is cut the default "
                   << "way, which may not be the model's";
    }
    return absl::OkStatus();
  }

  // The array `name` with elements that `accepts` accepts; nothing if there is no such key.
  template <typename Accepts>
  absl::StatusOr<std::optional<GgufArray>> ReadArray(absl::string_view name,
                                                     absl::string_view wanted,
                                                     Accepts accepts) const {
    const GgufValue* value = Find(name);
    if (value == nullptr) return std::optional<GgufArray>();
    const std::optional<GgufArray> array = value->AsArray();
    const GgufType type = array ? array->element_type() : value->type();
    if (!array || !accepts(type)) {
      return Error("tokenizer_types", name,
                   absl::StrCat("is ", array ? "an array of " : "of type ", NameOf(type),
                                ", where an array of ", wanted, " is needed"));
    }
    return array;
  }

  absl::StatusOr<std::vector<std::string>> ReadStrings(absl::string_view name) const {
    ASSIGN_OR_RETURN(const std::optional<GgufArray> array,
                     ReadArray(name, "str", [](GgufType t) { return t == GgufType::kString; }));
    if (!array) return Error("tokenizer_missing", name, "is not there");
    std::vector<std::string> strings;
    strings.reserve(array->size());
    for (const GgufValue element : *array) strings.emplace_back(*element.AsString());
    return strings;
  }

  // i32 by the format; some writers use other signed or wider integers.
  absl::Status ReadTypes() {
    ASSIGN_OR_RETURN(
        const std::optional<GgufArray> array, ReadArray("token_type", "i32", [](GgufType type) {
          return type == GgufType::kI32 || type == GgufType::kU32 || type == GgufType::kI64;
        }));
    if (!array) return absl::OkStatus();
    vocabulary_.types.reserve(array->size());
    for (const GgufValue element : *array) {
      const int64_t type = *element.AsInt();
      if (type < 0 || type > static_cast<int64_t>(TokenType::kByte)) {
        return Error("tokenizer_types", "token_type",
                     absl::StrCat("of token ", vocabulary_.types.size(), " is ", type,
                                  ", where 0 to 6 are defined"));
      }
      vocabulary_.types.push_back(static_cast<TokenType>(type));
    }
    return absl::OkStatus();
  }

  absl::Status ReadScores() {
    ASSIGN_OR_RETURN(const std::optional<GgufArray> array,
                     ReadArray("scores", "f32", [](GgufType t) { return t == GgufType::kF32; }));
    if (!array) return absl::OkStatus();
    vocabulary_.scores.reserve(array->size());
    for (const GgufValue element : *array) {
      vocabulary_.scores.push_back(static_cast<float>(*element.AsDouble()));
    }
    return absl::OkStatus();
  }

  absl::Status ReadSpecialId(const SpecialIdName& special) {
    const std::string name = absl::StrCat(special.name, "_token_id");
    const GgufValue* value = Find(name);
    if (value == nullptr) return absl::OkStatus();
    if (!IsInteger(value->type())) return WrongType(name, value->type(), "an integer");
    const std::optional<int64_t> id = value->AsInt();
    if (!id || *id < 0 || *id > std::numeric_limits<TokenId>::max()) {
      return Error("tokenizer_ids", name,
                   absl::StrCat("is ", id ? absl::StrCat(*id) : "above 2^63", ", which is no id"));
    }
    vocabulary_.ids.*special.id = static_cast<TokenId>(*id);
    return absl::OkStatus();
  }

  const GgufFile& file_;
  Vocabulary vocabulary_;
};

}  // namespace

absl::StatusOr<Vocabulary> ReadVocabulary(const GgufFile& file) {
  return VocabularyReader(file).Read();
}

}  // namespace strata
