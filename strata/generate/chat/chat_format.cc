#include "strata/generate/chat/chat_format.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "strata/core/error.h"
#include "strata/core/gguf/gguf_value.h"
#include "strata/core/status_macros.h"
#include "strata/generate/chat/chat_template.h"

namespace strata {
namespace {

using Role = ChatMessage::Role;

constexpr absl::string_view kTemplateKey = "tokenizer.chat_template";
constexpr absl::string_view kReasoningEnd = "</think>";

absl::StatusOr<ChatStyle> StyleOfFile(const GgufFile& file) {
  const auto error = [&](absl::string_view kind, absl::string_view problem) {
    return InputError(kind, file.path(),
                      absl::StrCat(kTemplateKey, " ", problem,
                                   "; --chat_format names a format: ", ChatStyleNames()));
  };
  const GgufValue* value = file.FindKey(kTemplateKey);
  if (value == nullptr) return error("chat_template", "is not there");
  const std::optional<absl::string_view> text = value->AsString();
  if (!text) return error("key_type", "is not a string");
  std::optional<ChatStyle> style = RecognizeChatTemplate(*text);
  if (!style) return error("chat_template", "is of no known format");
  return *std::move(style);
}

std::string TextOf(const Tokenizer& tokenizer, std::optional<TokenId> id) {
  return id ? tokenizer.BytesOf(*id) : "";
}

// Puts one conversation together.
class PromptWriter {
 public:
  PromptWriter(const ChatStyle& style, absl::string_view eos, absl::CivilDay date)
      : style_(style),
        eos_(eos),
        date_(absl::FormatTime(style.date_format, absl::FromCivil(date, absl::UTCTimeZone()),
                               absl::UTCTimeZone())) {}

  void AddMark(absl::string_view mark) {
    const std::string text = absl::StrReplaceAll(mark, {{"{eos}", eos_}, {"{date}", date_}});
    AddText(text, SpecialText::kIsToken);
  }

  void AddSystem(absl::string_view content) {
    AddMark(style_.system.before);
    AddMark(style_.system_preamble);
    AddContent(content, style_.system);
    AddMark(style_.system.after);
  }

  void AddDefaultSystem() {
    AddSystem(absl::StrReplaceAll(style_.default_system, {{"{date}", date_}}));
  }

  // `system`, if it is given, goes before the content.
  void AddUser(std::optional<absl::string_view> system, absl::string_view content) {
    AddMark(style_.user.before);
    if (system) AddText(absl::StrCat(*system, "\n\n"), SpecialText::kIsContent);
    AddContent(content, style_.user);
    AddMark(style_.user.after);
  }

  void AddAnswer(absl::string_view content) {
    absl::string_view before = style_.assistant.before;
    if (absl::ConsumePrefix(&before, style_.answer_opening)) AddMark(style_.answer_opening);
    // What follows was generated, so no token reaches into it.
    next_starts_token_ = true;
    AddMark(before);
    if (style_.drops_reasoning) content = WithoutReasoning(content);
    AddContent(content, style_.assistant);
    AddMark(style_.assistant.after);
  }

  std::vector<TextPiece> Take() { return std::move(pieces_); }

 private:
  void AddText(absl::string_view text, SpecialText special_text) {
    if (text.empty()) return;
    pieces_.push_back({std::string(text), special_text, next_starts_token_});
    next_starts_token_ = false;
  }

  void AddContent(absl::string_view content, const ChatStyle::Turn& turn) {
    if (turn.trims) content = absl::StripAsciiWhitespace(content);
    if (content.empty()) return;
    AddMark(turn.before_content);
    AddText(content, SpecialText::kIsContent);
  }

  absl::string_view WithoutReasoning(absl::string_view content) const {
    const size_t end = content.rfind(kReasoningEnd);
    if (end == absl::string_view::npos) return content;
    content.remove_prefix(end + kReasoningEnd.size());
    if (style_.drops_line_ends_after_reasoning) {
      while (!content.empty() && content.front() == '\n') content.remove_prefix(1);
    }
    return content;
  }

  const ChatStyle& style_;
  const absl::string_view eos_;
  const std::string date_;
  std::vector<TextPiece> pieces_;
  bool next_starts_token_ = false;
};

// The index of the user message that takes the system message in; messages.size() if none does.
size_t HostOfSystem(absl::Span<const ChatMessage> messages, ChatStyle::SystemPlace place) {
  size_t host = messages.size();
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role != Role::kUser) continue;
    host = i;
    if (place == ChatStyle::SystemPlace::kInFirstUserTurn) break;
  }
  return host;
}

}  // namespace

absl::StatusOr<ChatFormat> ChatFormat::Choose(const GgufFile& file, const Tokenizer& tokenizer,
                                              absl::string_view name) {
  const ChatStyle* named = FindChatStyle(name);
  if (!name.empty() && named == nullptr) {
    return UsageError(
        absl::StrCat("--chat_format ", name, " is not known; known are ", ChatStyleNames()));
  }
  ChatStyle style;
  if (named != nullptr) {
    style = *named;
  } else {
    ASSIGN_OR_RETURN(style, StyleOfFile(file));
  }
  return ChatFormat(std::move(style), TextOf(tokenizer, tokenizer.bos()),
                    TextOf(tokenizer, tokenizer.eos()));
}

ChatFormat::ChatFormat(ChatStyle style, std::string bos, std::string eos)
    : style_(std::move(style)), bos_(std::move(bos)), eos_(std::move(eos)) {}

std::vector<TextPiece> ChatFormat::Format(absl::Span<const ChatMessage> messages,
                                          const Options& options) const {
  PromptWriter writer(style_, eos_, options.date);
  if (style_.begins_with_bos) writer.AddMark(bos_);
  writer.AddMark(style_.beginning);

  // The first message, if it is the system's, stands for itself or goes into a user turn.
  std::optional<absl::string_view> system;
  if (!messages.empty() && messages[0].role == Role::kSystem) {
    if (!messages[0].content.empty() || !style_.ignores_empty_system) system = messages[0].content;
    messages.remove_prefix(1);
  }
  if (!system && !style_.default_system.empty()) {
    writer.AddDefaultSystem();
  } else if (style_.system_place == ChatStyle::SystemPlace::kOwnTurn &&
             (system || !style_.system_preamble.empty())) {
    writer.AddSystem(system.value_or(""));
    system.reset();
  }
  const size_t host = HostOfSystem(messages, style_.system_place);
  for (size_t i = 0; i < messages.size(); ++i) {
    const std::string& content = messages[i].content;
    switch (messages[i].role) {
      case Role::kSystem:
        writer.AddSystem(content);
        break;
      case Role::kUser:
        writer.AddUser(i == host ? system : std::nullopt, content);
        break;
      case Role::kAssistant:
        writer.AddAnswer(content);
        break;
    }
  }
  if (options.opens_answer) writer.AddMark(style_.answer_opening);
  return writer.Take();
}

}  // namespace strata
