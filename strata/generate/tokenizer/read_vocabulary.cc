#include "strata/generate/tokenizer/read_vocabulary.h"

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <iterator>
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
#include "strata/core/gguf/metadata_reader.h"
#include "strata/core/status_macros.h"
#include "strata/generate/tokenizer/sentence_piece_encoder.h"
#include "strata/generate/tokenizer/special_id_names.h"

namespace strata {
namespace {

class VocabularyReader {
 public:
  explicit VocabularyReader(const GgufFile& file) : file_(file), keys_(file, kPrefix) {
    vocabulary_.file = file.path();
  }

  absl::StatusOr<Vocabulary> Read() {
    RETURN_IF_ERROR(ReadModel());
    ASSIGN_OR_RETURN(vocabulary_.tokens, ReadStrings("tokens"));
    if (vocabulary_.model != Vocabulary::Model::kSentencePiece) {
      ASSIGN_OR_RETURN(vocabulary_.merges, ReadStrings("merges"));
    }
    if (vocabulary_.model == Vocabulary::Model::kBytePairs) ReadPreTokenizer();
    RETURN_IF_ERROR(ReadTypes());
    FindByteTokens();
    RETURN_IF_ERROR(ReadScores());
    for (const SpecialIdName& special : kSpecialIdNames) {
      RETURN_IF_ERROR(ReadSpecialId(special));
    }
    ReadFlag("add_bos_token", vocabulary_.add_bos);
    ReadFlag("add_eos_token", vocabulary_.add_eos);
    ReadFlag("add_space_prefix", vocabulary_.add_space_prefix);
    RETURN_IF_ERROR(keys_.status());
    return std::move(vocabulary_);
  }

 private:
  static constexpr absl::string_view kPrefix = "tokenizer.ggml";

  static std::string KeyOf(absl::string_view name) { return absl::StrCat(kPrefix, ".", name); }

  const GgufValue* Find(absl::string_view name) const { return file_.FindKey(KeyOf(name)); }

  absl::Status Error(absl::string_view kind, absl::string_view name,
                     absl::string_view problem) const {
    return InputError(kind, file_.path(), absl::StrCat(KeyOf(name), " ", problem));
  }

  void ReadFlag(absl::string_view name, std::optional<bool>& flag) {
    if (keys_.Has(name)) keys_.Read(name, flag.emplace());
  }

  absl::Status ReadModel() {
    if (!keys_.Has("model")) return Error("tokenizer_missing", "model", "is not there");
    std::string model;
    keys_.Read("model", model);
    RETURN_IF_ERROR(keys_.status());
    if (model == "gpt2") {
      vocabulary_.model = Vocabulary::Model::kBytePairs;
    } else if (model == "llama") {
      vocabulary_.model = Vocabulary::Model::kSentencePiece;
    } else if (model == "gemma4") {
      vocabulary_.model = Vocabulary::Model::kCharacterPairs;
    } else {
      return Error("tokenizer_model", "model",
                   absl::StrCat("is \"", absl::CHexEscape(model),
                                "\"; \"gpt2\" (byte pairs), \"llama\" (SentencePiece) and "
                                "\"gemma4\" (pairs of characters) are known"));
    }
    return absl::OkStatus();
  }

  void ReadPreTokenizer() {
    if (!keys_.Has("pre")) {
      LOG(WARNING) << file_.path() << ": tokenizer.ggml.pre is not there, so text is cut in a "
                   << "general way, which may not be the model's";
    }
    keys_.Read("pre", vocabulary_.pre);
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

  // Some writers type byte tokens as normal. Where a byte has no token of its type, the token whose
  // text names it is that.
  void FindByteTokens() {
    std::vector<TokenType>& types = vocabulary_.types;
    if (vocabulary_.model != Vocabulary::Model::kSentencePiece ||
        types.size() != vocabulary_.tokens.size()) {
      return;
    }
    std::bitset<256> has_token;
    for (size_t id = 0; id < types.size(); ++id) {
      const std::optional<char> byte = ByteOfByteToken(vocabulary_.tokens[id]);
      if (byte && types[id] == TokenType::kByte) has_token.set(static_cast<uint8_t>(*byte));
    }
    int num_found = 0;
    for (size_t id = 0; id < types.size(); ++id) {
      const std::optional<char> byte = ByteOfByteToken(vocabulary_.tokens[id]);
      if (!byte || types[id] != TokenType::kNormal || has_token[static_cast<uint8_t>(*byte)])
        continue;
      types[id] = TokenType::kByte;
      ++num_found;
    }
    if (num_found == 0) return;
    LOG(WARNING) << file_.path() << ": " << num_found << " byte tokens are typed as normal in "
                 << KeyOf("token_type") << "; they are known by their texts";
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
    if (!IsInteger(value->type())) {
      return Error("key_type", name,
                   absl::StrCat("is of type ", NameOf(value->type()), ", not an integer"));
    }
    const std::optional<int64_t> id = value->AsInt();
    const bool is_token = id && *id >= 0 && *id < std::ssize(vocabulary_.tokens);
    if (!is_token && !special.is_used) {
      LOG(WARNING) << file_.path() << ": " << KeyOf(name) << " is no token of the vocabulary; "
                   << "nothing uses it";
      return absl::OkStatus();
    }
    if (!id || *id < 0 || *id > std::numeric_limits<TokenId>::max()) {
      return Error("tokenizer_ids", name,
                   absl::StrCat("is ", id ? absl::StrCat(*id) : "above 2^63", ", which is no id"));
    }
    vocabulary_.ids.*special.id = static_cast<TokenId>(*id);
    return absl::OkStatus();
  }

  const GgufFile& file_;
  MetadataReader keys_;
  Vocabulary vocabulary_;
};

}  // namespace

absl::StatusOr<Vocabulary> ReadVocabulary(const GgufFile& file) {
  return VocabularyReader(file).Read();
}

}  // namespace strata
