#include "strata/generate/chat/chat_template.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "glog/logging.h"

namespace strata {
namespace {

using absl::StrContains;

struct Signature {
  std::vector<absl::string_view> texts;      // All must be there ...
  std::vector<absl::string_view> not_texts;  // ... and none of these.
  absl::string_view style;
};

// The first that fits counts. "\n" in a template's strings has become a line end.
const std::vector<Signature>& Signatures() {
  static const std::vector<Signature>& signatures = *new std::vector<Signature>{
      {{"<|im_middle|>", "<|im_user|>"}, {}, "kimi-k2"},
      {{"<|im_start|>", "<|im_end|>"}, {}, "chatml"},
      {{"<|start|>", "<|channel|>", "<|message|>"}, {}, "harmony"},
      {{"<|header_start|>", "<|eot|>"}, {}, "llama4"},
      {{"<|start_header_id|>", "<|eot_id|>", "Cutting Knowledge Date"}, {}, "llama3.1"},
      {{"<|start_header_id|>", "<|eot_id|>"}, {}, "llama3"},
      {{"[INST]", "[SYSTEM_PROMPT] "}, {}, "mistral-v7"},
      {{"[INST]", "[SYSTEM_PROMPT]"}, {}, "mistral-v7-tekken"},
      {{"\" [INST] \""}, {}, "mistral-v1"},
      {{"' [INST] '"}, {}, "mistral-v1"},
      {{"\"[INST]\"", "loop.last"}, {}, "mistral-v3-tekken"},
      {{"\"[INST] \"", "loop.last"}, {}, "mistral-v3"},
      {{"'[INST] '", "' [/INST]'"}, {"<<SYS>>"}, "mistral-v0.1"},
      {{"[gMASK]<sop>", "<think></think>"}, {}, "glm4.5"},
      {{"[gMASK]<sop>", "else '<think>'"}, {}, "glm4.7"},
      {{"[gMASK]<sop>"}, {"<think>"}, "glm4"},
      {{"<｜User｜>", "<｜Assistant｜>", "'</think>'}}"}, {}, "deepseek-v3.1"},
      {{"<｜User｜>", "<｜Assistant｜>"}, {}, "deepseek-v3"},
      {{"'User: '", "'Assistant: ' + message['content'] + eos_token"}, {}, "deepseek-v2"},
      {{"<|start_of_role|>", "<|end_of_role|>"}, {}, "granite"},
      {{"<start_of_turn>", "<end_of_turn>"}, {}, "gemma"},
      {{"]~b]", "[e~["}, {}, "minimax-m2"},
  };
  return signatures;
}

bool Fits(const Signature& signature, absl::string_view text) {
  const auto is_there = [&](absl::string_view part) { return StrContains(text, part); };
  return std::all_of(signature.texts.begin(), signature.texts.end(), is_there) &&
         std::none_of(signature.not_texts.begin(), signature.not_texts.end(), is_there);
}

// A literal text between two others: without quotes, braces or line ends, which would make it a
// piece of program.
std::optional<std::string> LiteralBetween(absl::string_view text, absl::string_view before,
                                          absl::string_view after) {
  for (size_t at = text.find(before); at != absl::string_view::npos; at = text.find(before, at)) {
    at += before.size();
    const absl::string_view rest = text.substr(at);
    const size_t size = rest.find(after);
    if (size == absl::string_view::npos) break;
    if (size == 0) continue;
    const absl::string_view literal = rest.substr(0, size);
    if (literal.find_first_of("'\"{}\n") == absl::string_view::npos) return std::string(literal);
  }
  return std::nullopt;
}

// What a conversation without a system message gets.
std::string DefaultSystemOf(absl::string_view text, const ChatStyle& style) {
  if (style.name == "granite") {
    // The text of 4.0, and that of 3.1 to 3.3, which are put together from several strings.
    constexpr absl::string_view kGranite4 =
        "You are a helpful assistant. Please ensure responses are professional, accurate, and "
        "safe.";
    if (StrContains(text, kGranite4)) return std::string(kGranite4);
    if (StrContains(text, "Knowledge Cutoff Date: April 2024.")) {
      return "Knowledge Cutoff Date: April 2024.\nToday's Date: {date}.\n"
             "You are Granite, developed by IBM. You are a helpful AI assistant.";
    }
    return "";
  }
  if (style.name == "minimax-m2") {
    return LiteralBetween(text, "model_identity = \"", "\"").value_or(style.default_system);
  }
  if (style.name == "chatml" || style.name == "kimi-k2") {
    return LiteralBetween(text, style.system.before, "<|im_end|>").value_or("");
  }
  return style.default_system;
}

// Whether a prompt ends by opening the model's reasoning for it.
bool OpensThinking(absl::string_view text) {
  const size_t prompt = text.rfind("add_generation_prompt");
  if (prompt == absl::string_view::npos) return false;
  const absl::string_view rest = text.substr(prompt);
  return StrContains(rest, "<think>\n'") || StrContains(rest, "<think>\n\"");
}

// Whether gpt-oss's developer message ends in two line ends: its first files had none.
bool SpacesDeveloperMessage(absl::string_view text) {
  constexpr absl::string_view kMessage = "{{- developer_message }}";
  const size_t message = text.find(kMessage);
  if (message == absl::string_view::npos) return true;
  const absl::string_view rest =
      absl::StripLeadingAsciiWhitespace(text.substr(message + kMessage.size()));
  return absl::StartsWith(rest, "{{- \"\n\n\" }}");
}

void TakeDetails(absl::string_view text, ChatStyle& style) {
  style.default_system = DefaultSystemOf(text, style);
  style.begins_with_bos = StrContains(text, "bos_token") ||
                          StrContains(text, "<|begin_of_text|>") || StrContains(text, "<bos>");
  if (OpensThinking(text) && !StrContains(style.answer_opening, "<think>")) {
    style.answer_opening += "<think>\n";
  }
  style.drops_reasoning =
      StrContains(text, "split('</think>'") || StrContains(text, "split(\"</think>\"");
  style.drops_line_ends_after_reasoning =
      StrContains(text, "lstrip('\n')") || StrContains(text, "strip('\n')");
  if (style.name == "chatml" && StrContains(text, "render_content(") &&
      StrContains(text, ")|trim")) {
    style.system.trims = style.user.trims = style.assistant.trims = true;
  }
  if (style.name == "harmony" && !SpacesDeveloperMessage(text)) style.system.after = "<|end|>";
  // From 3.2 on the date is that of the day.
  if (style.name == "llama3.1" && StrContains(text, "strftime_now")) {
    style.system_preamble = "Cutting Knowledge Date: December 2023\nToday Date: {date}\n\n";
  }
}

}  // namespace

std::optional<ChatStyle> RecognizeChatTemplate(absl::string_view chat_template) {
  const std::string text = absl::StrReplaceAll(chat_template, {{"\\n", "\n"}});
  for (const Signature& signature : Signatures()) {
    if (!Fits(signature, text)) continue;
    const ChatStyle* style = FindChatStyle(signature.style);
    CHECK(style != nullptr) << signature.style;
    ChatStyle recognized = *style;
    TakeDetails(text, recognized);
    return recognized;
  }
  return std::nullopt;
}

}  // namespace strata
