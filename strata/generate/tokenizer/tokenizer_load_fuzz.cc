// libFuzzer target: files with any tokenizer keys, of right and wrong types; the tokenizer of one
// that is accepted is used, and so is its chat template.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_value.h"
#include "strata/core/gguf/gguf_writer.h"
#include "strata/core/gguf/scratch_file.h"
#include "strata/core/utf8.h"
#include "strata/generate/chat/chat_format.h"
#include "strata/generate/chat/chat_message.h"
#include "strata/generate/chat/prompt_template.h"
#include "strata/generate/tokenizer/detokenizer.h"
#include "strata/generate/tokenizer/load_tokenizer.h"
#include "strata/generate/tokenizer/special_id_names.h"
#include "strata/generate/tokenizer/text_piece.h"

namespace strata {
namespace {

constexpr GgufType kNumberTypes[] = {GgufType::kI32, GgufType::kU32, GgufType::kF32,
                                     GgufType::kI64, GgufType::kU8,  GgufType::kF64,
                                     GgufType::kU64, GgufType::kBool};
constexpr const char* kTexts[] = {"a",       "b",      "ab",  "Ġ",        "Ġa",   "Ã",   "©",
                                  "Ã©",      "▁",      "▁a",  "<s>",      "</s>", "<",   "<0x41>",
                                  "<0xC3>",  "<0xZZ>", "a b", "Ã ©",      "Ġ a",  "b a", "ab ab",
                                  "<|end|>", "\xFF",   "",    "<|call|>", "世"};

class FileMaker {
 public:
  explicit FileMaker(FuzzedDataProvider& data) : data_(data) {}

  std::string Make() {
    Text("model", {"gpt2", "gpt2", "llama", "llama", "t5"});
    Text("pre", {"qwen2", "llama-bpe", "gpt-4o", "deepseek-llm", "default", "no"});
    Texts("tokens", 24);
    Texts("merges", 8);
    Numbers("token_type");
    Numbers("scores");
    for (const SpecialIdName& special : kSpecialIdNames) {
      if (data_.ConsumeIntegralInRange(0, 7) == 0) Number(absl::StrCat(special.name, "_token_id"));
    }
    for (const char* flag : {"add_bos_token", "add_eos_token", "add_space_prefix"}) {
      if (data_.ConsumeBool()) writer_.Key(KeyOf(flag), data_.ConsumeBool());
    }
    if (data_.ConsumeBool()) {
      writer_.Key("tokenizer.chat_template", absl::string_view(data_.ConsumeRandomLengthString()));
    }
    return writer_.Build();
  }

 private:
  static std::string KeyOf(absl::string_view name) { return absl::StrCat("tokenizer.ggml.", name); }

  // Now and then a key is missing or a single number.
  bool IsSpoilt(absl::string_view name) {
    const int choice = data_.ConsumeIntegralInRange(0, 31);
    if (choice == 1) Number(name);
    return choice <= 1;
  }

  void Text(absl::string_view name, std::vector<const char*> choices) {
    if (IsSpoilt(name)) return;
    writer_.Key(KeyOf(name), choices[data_.ConsumeIntegralInRange<size_t>(0, choices.size() - 1)]);
  }

  void Texts(absl::string_view name, int max_count) {
    if (IsSpoilt(name)) return;
    std::vector<std::string> texts;
    for (int left = data_.ConsumeIntegralInRange(0, max_count); left > 0; --left) {
      texts.push_back(data_.ConsumeIntegralInRange(0, 7) == 0 ? data_.ConsumeRandomLengthString(12)
                                                              : data_.PickValueInArray(kTexts));
    }
    num_tokens_ = name == "tokens" ? texts.size() : num_tokens_;
    writer_.Key(KeyOf(name), texts);
  }

  // Mostly as many as tokens, of the types that fit.
  void Numbers(absl::string_view name) {
    if (data_.ConsumeBool() || IsSpoilt(name)) return;
    const bool fits = data_.ConsumeIntegralInRange(0, 15) != 0;
    const GgufType type = !fits              ? data_.PickValueInArray(kNumberTypes)
                          : name == "scores" ? GgufType::kF32
                                             : GgufType::kI32;
    const size_t count = fits ? num_tokens_ : data_.ConsumeIntegralInRange<size_t>(0, 30);
    GgufBytes bytes;
    bytes.Type(type).Number(uint64_t{count});
    for (size_t i = 0; i < count; ++i) AppendNumber(type, fits, bytes);
    writer_.Key(KeyOf(name), GgufType::kArray, bytes);
  }

  void Number(absl::string_view name) {
    const GgufType type = data_.PickValueInArray(kNumberTypes);
    GgufBytes bytes;
    AppendNumber(type, data_.ConsumeBool(), bytes);
    writer_.Key(KeyOf(name), type, bytes);
  }

  void AppendNumber(GgufType type, bool is_small, GgufBytes& bytes) {
    if (type == GgufType::kBool) {
      bytes.Number(static_cast<uint8_t>(data_.ConsumeBool()));
      return;
    }
    const uint64_t number = is_small && type != GgufType::kF32
                                ? data_.ConsumeIntegralInRange<uint64_t>(0, 6)
                                : data_.ConsumeIntegral<uint64_t>();
    bytes.Raw(absl::string_view(reinterpret_cast<const char*>(&number), WidthOf(type)));
  }

  FuzzedDataProvider& data_;
  GgufWriter writer_;
  size_t num_tokens_ = 0;
};

void Use(const GgufFile& file, const Tokenizer& tokenizer, const std::string& text) {
  for (const SpecialText special_text : {SpecialText::kIsToken, SpecialText::kIsPlainText}) {
    const absl::StatusOr<std::vector<TokenId>> ids = tokenizer.Encode(text, special_text);
    if (ids.ok()) CHECK(IsUtf8(Decode(tokenizer, *ids)));
  }
  absl::StatusOr<PromptTemplate> prompt_template = PromptTemplate::OfFile(file, false);
  if (!prompt_template.ok()) return;
  const ChatFormat format = ChatFormat::Create(*std::move(prompt_template), tokenizer, {}).value();
  const absl::StatusOr<std::vector<TextPiece>> pieces =
      format.Format({ChatMessage::System(text), ChatMessage::User(text)}, {});
  if (pieces.ok()) (void)tokenizer.EncodePieces(*pieces);
}

}  // namespace
}  // namespace strata

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  FLAGS_minloglevel = google::GLOG_ERROR;
  static strata::ScratchFile* const scratch = new strata::ScratchFile;
  FuzzedDataProvider data(bytes, size);
  scratch->Set(strata::FileMaker(data).Make());
  const auto file = strata::GgufFile::Open(scratch->path());
  CHECK(file.ok()) << file.status();
  const auto tokenizer = strata::LoadTokenizer(**file);
  if (tokenizer.ok()) strata::Use(**file, **tokenizer, data.ConsumeRemainingBytesAsString());
  return 0;
}
