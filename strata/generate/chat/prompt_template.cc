#include "strata/generate/chat/prompt_template.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "strata/core/error.h"
#include "strata/core/gguf/gguf_value.h"
#include "strata/core/printable.h"
#include "strata/core/status_macros.h"
#include "strata/generate/chat/jinja/marked_text.h"
#include "strata/generate/chat/named_formats.h"

namespace strata {
namespace {

constexpr absl::string_view kTemplateKey = "tokenizer.chat_template";
constexpr absl::string_view kToolTemplateKey = "tokenizer.chat_template.tool_use";
constexpr size_t kShownBytes = 2000;

}  // namespace

absl::StatusOr<PromptTemplate> PromptTemplate::OfFile(const GgufFile& file, bool has_tools) {
  const GgufValue* value = has_tools ? file.FindKey(kToolTemplateKey) : nullptr;
  if (value == nullptr) value = file.FindKey(kTemplateKey);
  const auto error = [&](absl::string_view kind, absl::string_view problem) {
    return InputError(kind, file.path(),
                      absl::StrCat(kTemplateKey, " ", problem,
                                   "; --chat_format names a format: ", NamedFormatNames()));
  };
  if (value == nullptr) return error("chat_template", "is not there");
  const std::optional<absl::string_view> text = value->AsString();
  if (!text.has_value()) return error("key_type", "is not a string");
  return Parse(*text, file.path());
}

absl::StatusOr<PromptTemplate> PromptTemplate::Named(absl::string_view name) {
  const NamedFormat* format = FindNamedFormat(name);
  if (format == nullptr) {
    return UsageError(
        absl::StrCat("--chat_format ", name, " is not known; known are ", NamedFormatNames()));
  }
  return Parse(format->chat_template, absl::StrCat("--chat_format ", name));
}

absl::StatusOr<PromptTemplate> PromptTemplate::Parse(absl::string_view source, std::string file) {
  absl::StatusOr<jinja::Template> parsed = jinja::Template::Parse(source);
  if (!parsed.ok()) {
    return InputError("chat_template", file,
                      absl::StrCat("the chat template: ", parsed.status().message()));
  }
  return PromptTemplate(*std::move(parsed), std::move(file));
}

PromptTemplate::PromptTemplate(jinja::Template parsed, std::string file)
    : template_(std::move(parsed)), file_(std::move(file)) {}

absl::StatusOr<std::vector<TextPiece>> PromptTemplate::Render(const jinja::Value& variables,
                                                              absl::CivilSecond now) const {
  jinja::Template::Options options;
  options.now = now;
  absl::StatusOr<std::vector<jinja::MarkedText::Piece>> written =
      template_.Render(variables, options);
  if (!written.ok()) {
    const std::string message = Printable(written.status().message(), kShownBytes);
    if (written.status().code() == absl::StatusCode::kFailedPrecondition) {
      return InputError("template_refused", file_,
                        absl::StrCat("the chat template refuses the conversation: ", message));
    }
    return InputError("chat_template", file_, absl::StrCat("the chat template: ", message));
  }
  std::vector<TextPiece> pieces;
  for (jinja::MarkedText::Piece& piece : *written) {
    const SpecialText special_text =
        piece.is_content ? SpecialText::kIsContent : SpecialText::kIsToken;
    pieces.push_back({.text = std::move(piece.text), .special_text = special_text});
  }
  return pieces;
}

}  // namespace strata
