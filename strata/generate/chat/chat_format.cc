#include "strata/generate/chat/chat_format.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "strata/core/error.h"
#include "strata/core/status_macros.h"
#include "strata/core/utf8.h"
#include "strata/generate/chat/jinja/marked_text.h"
#include "strata/generate/chat/jinja/value_from_json.h"
#include "strata/generate/tokenizer/token_id.h"
#include "strata/generate/tokenizer/vocabulary.h"

namespace strata {
namespace {

using jinja::Dict;
using jinja::MarkedText;
using jinja::Value;

absl::string_view NameOf(ChatMessage::Role role) {
  switch (role) {
    case ChatMessage::Role::kSystem:
      return "system";
    case ChatMessage::Role::kUser:
      return "user";
    case ChatMessage::Role::kAssistant:
      return "assistant";
  }
  LOG(FATAL) << "no such role";
}

// Strings of templates are UTF-8.
MarkedText WellFormed(const MarkedText& text) {
  MarkedText result;
  for (const MarkedText::Piece& piece : text.Pieces()) {
    result.Append(ReplaceIllFormedUtf8(piece.text), piece.is_content);
  }
  return result;
}

// The role is the program's word, and many templates make a mark of it.
Value ValueOf(const ChatMessage& message) {
  Dict dict;
  dict.Set("role", Value::String(NameOf(message.role)));
  dict.Set("content", Value::String(WellFormed(message.content), /*budget=*/nullptr));
  if (!message.thinking.empty()) {
    // Two names are in use for it.
    const Value thinking = Value::String(WellFormed(message.thinking), /*budget=*/nullptr);
    dict.Set("thinking", thinking);
    dict.Set("reasoning_content", thinking);
  }
  return Value::DictOf(std::move(dict), /*budget=*/nullptr);
}

void SetSpecialTokens(const Tokenizer& tokenizer, Dict& variables) {
  const Vocabulary::SpecialIds& ids = tokenizer.special_ids();
  const auto set = [&](absl::string_view name, std::optional<TokenId> id) {
    if (!id.has_value()) return;
    variables.Set(name, Value::String(ReplaceIllFormedUtf8(tokenizer.BytesOf(*id))));
  };
  // Templates put these two next to text without asking whether they are there.
  variables.Set("bos_token", Value::String(""));
  variables.Set("eos_token", Value::String(""));
  set("bos_token", ids.bos);
  set("eos_token", ids.eos);
  set("unk_token", ids.unknown);
  set("pad_token", ids.padding);
  set("sep_token", ids.separator);
  set("mask_token", ids.mask);
}

// What a user gave is content as messages are.
absl::StatusOr<Value> ContentOf(const nlohmann::ordered_json& json) {
  return jinja::ValueFromJson(json, /*is_content=*/true);
}

absl::Status SetVariables(const ChatFormat::Variables& given, Dict& variables) {
  absl::StatusOr<Value> tools = ContentOf(given.tools);
  if (!tools.ok()) return InputError("chat_tools", "", tools.status().message());
  variables.Set("tools", *std::move(tools));
  const nlohmann::ordered_json& arguments = given.arguments;
  if (arguments.is_null()) return absl::OkStatus();
  if (!arguments.is_object()) return UsageError("--template_args is no JSON object");
  for (const auto& [name, json] : arguments.items()) {
    if (name == "messages" || name == "tools") {
      return UsageError(absl::StrCat("--template_args cannot set \"", name, "\""));
    }
    absl::StatusOr<Value> value = ContentOf(json);
    if (!value.ok()) {
      return UsageError(absl::StrCat("--template_args: ", value.status().message()));
    }
    variables.Set(name, *std::move(value));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ChatFormat::Check(const Variables& variables) {
  Dict dict;
  return SetVariables(variables, dict);
}

absl::StatusOr<ChatFormat> ChatFormat::Create(PromptTemplate prompt_template,
                                              const Tokenizer& tokenizer,
                                              const Variables& variables) {
  Dict dict;
  SetSpecialTokens(tokenizer, dict);
  // Templates are told "none" and not left to find it undefined, as they are elsewhere.
  dict.Set("documents", Value::None());
  RETURN_IF_ERROR(SetVariables(variables, dict));
  return ChatFormat(std::move(prompt_template), std::move(dict));
}

ChatFormat::ChatFormat(PromptTemplate prompt_template, Dict variables)
    : template_(std::move(prompt_template)), variables_(std::move(variables)) {}

absl::StatusOr<std::vector<TextPiece>> ChatFormat::Format(absl::Span<const ChatMessage> messages,
                                                          const Options& options) const {
  std::vector<Value> values;
  for (const ChatMessage& message : messages) values.push_back(ValueOf(message));
  Dict variables = variables_;
  variables.Set("messages", Value::List(std::move(values), /*budget=*/nullptr));
  if (variables.Find("add_generation_prompt") == nullptr) {
    variables.Set("add_generation_prompt", Value::Bool(options.opens_answer));
  }
  return template_.Render(Value::DictOf(std::move(variables), /*budget=*/nullptr), options.now);
}

}  // namespace strata
