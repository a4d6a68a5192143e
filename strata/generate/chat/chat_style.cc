#include "strata/generate/chat/chat_style.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace strata {
namespace {

// Turns whose opening holds the role's name.
ChatStyle Named(absl::string_view name, absl::string_view before_role, absl::string_view after_role,
                absl::string_view after, bool trims = false) {
  const auto turn = [&](absl::string_view role) {
    return ChatStyle::Turn{absl::StrCat(before_role, role, after_role), std::string(after), trims};
  };
  return {.name = std::string(name),
          .system = turn("system"),
          .user = turn("user"),
          .assistant = turn("assistant"),
          .answer_opening = absl::StrCat(before_role, "assistant", after_role)};
}

ChatStyle Llama3() {
  ChatStyle style =
      Named("llama3", "<|start_header_id|>", "<|end_header_id|>\n\n", "<|eot_id|>", true);
  style.begins_with_bos = true;
  return style;
}

// From 3.1 on there is always a system message, and it begins with dates.
ChatStyle Llama31() {
  ChatStyle style = Llama3();
  style.name = "llama3.1";
  style.system_preamble = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n";
  style.date_format = "%d %b %Y";
  return style;
}

ChatStyle Llama4() {
  ChatStyle style = Named("llama4", "<|header_start|>", "<|header_end|>\n\n", "<|eot|>");
  style.system.trims = true;
  style.ignores_empty_system = true;
  style.begins_with_bos = true;
  return style;
}

ChatStyle KimiK2() {
  return {.name = "kimi-k2",
          .system = {"<|im_system|>system<|im_middle|>", "<|im_end|>"},
          .user = {"<|im_user|>user<|im_middle|>", "<|im_end|>"},
          .assistant = {"<|im_assistant|>assistant<|im_middle|>", "<|im_end|>"},
          .answer_opening = "<|im_assistant|>assistant<|im_middle|>",
          .default_system = "You are a helpful assistant"};
}

ChatStyle MiniMaxM2() {
  return {.name = "minimax-m2",
          .beginning = "]~!b[",
          .system = {"]~b]system\n", "[e~[\n"},
          .user = {"]~b]user\n", "[e~[\n"},
          .assistant = {"]~b]ai\n", "[e~[\n"},
          .answer_opening = "]~b]ai\n<think>\n",
          .default_system = "You are a helpful assistant.",
          .ignores_empty_system = true,
          .drops_reasoning = true,
          .drops_line_ends_after_reasoning = true};
}

// Mistral's versions differ in their spaces and in the place of the system message.
ChatStyle Mistral(absl::string_view name, absl::string_view user_before,
                  absl::string_view user_after, absl::string_view assistant_before,
                  ChatStyle::SystemPlace system_place, bool trims_answers = false) {
  return {.name = std::string(name),
          .user = {std::string(user_before), std::string(user_after)},
          .assistant = {std::string(assistant_before), "{eos}", trims_answers},
          .system_place = system_place,
          .begins_with_bos = true};
}

ChatStyle MistralV7(absl::string_view name, absl::string_view space) {
  ChatStyle style = Mistral(name, absl::StrCat("[INST]", space), "[/INST]", space,
                            ChatStyle::SystemPlace::kOwnTurn);
  style.system = {absl::StrCat("[SYSTEM_PROMPT]", space), "[/SYSTEM_PROMPT]"};
  return style;
}

ChatStyle Harmony() {
  return {.name = "harmony",
          .beginning =
              "<|start|>system<|message|>You are ChatGPT, a large language model trained by "
              "OpenAI.\nKnowledge cutoff: 2024-06\nCurrent date: {date}\n\nReasoning: "
              "medium\n\n# Valid channels: analysis, commentary, final. Channel must be "
              "included for every message.<|end|>",
          .system = {"<|start|>developer<|message|># Instructions\n\n", "\n\n<|end|>"},
          .user = {"<|start|>user<|message|>", "<|end|>"},
          .assistant = {"<|start|>assistant<|channel|>final<|message|>", "<|end|>"},
          .answer_opening = "<|start|>assistant",
          .ignores_empty_system = true};
}

ChatStyle Glm4() {
  return {.name = "glm4",
          .beginning = "[gMASK]<sop>",
          .system = {"<|system|>\n", ""},
          .user = {"<|user|>\n", ""},
          .assistant = {"<|assistant|>\n", ""},
          .answer_opening = "<|assistant|>"};
}

ChatStyle Glm45() {
  ChatStyle style = Glm4();
  style.name = "glm4.5";
  style.assistant = {"<|assistant|>\n<think></think>", "", true, "\n"};
  style.drops_reasoning = true;
  return style;
}

ChatStyle Glm47() {
  return {.name = "glm4.7",
          .beginning = "[gMASK]<sop>",
          .system = {"<|system|>", ""},
          .user = {"<|user|>", ""},
          .assistant = {"<|assistant|></think>", "", true},
          .answer_opening = "<|assistant|><think>",
          .drops_reasoning = true};
}

ChatStyle DeepSeekV2() {
  return {.name = "deepseek-v2",
          .system = {"", "\n\n"},
          .user = {"User: ", "\n\n"},
          .assistant = {"Assistant: ", "{eos}"},
          .answer_opening = "Assistant:",
          .begins_with_bos = true};
}

ChatStyle DeepSeekV3() {
  return {.name = "deepseek-v3",
          .user = {"<｜User｜>", ""},
          .assistant = {"<｜Assistant｜>", "<｜end▁of▁sentence｜>"},
          .answer_opening = "<｜Assistant｜>",
          .begins_with_bos = true};
}

// Without thinking, which is its template's default.
ChatStyle DeepSeekV31() {
  ChatStyle style = DeepSeekV3();
  style.name = "deepseek-v3.1";
  style.assistant.before = style.answer_opening = "<｜Assistant｜></think>";
  style.drops_reasoning = true;
  return style;
}

ChatStyle Granite() {
  ChatStyle style = Named("granite", "<|start_of_role|>", "<|end_of_role|>", "<|end_of_text|>\n");
  style.date_format = "%B %d, %Y";
  return style;
}

ChatStyle Gemma() {
  return {.name = "gemma",
          .user = {"<start_of_turn>user\n", "<end_of_turn>\n", true},
          .assistant = {"<start_of_turn>model\n", "<end_of_turn>\n", true},
          .answer_opening = "<start_of_turn>model\n",
          .system_place = ChatStyle::SystemPlace::kInFirstUserTurn,
          .begins_with_bos = true};
}

std::vector<ChatStyle> MakeStyles() {
  using Place = ChatStyle::SystemPlace;
  return {
      Named("chatml", "<|im_start|>", "\n", "<|im_end|>\n"),
      Llama3(),
      Llama31(),
      Llama4(),
      Mistral("mistral-v0.1", "[INST] ", " [/INST]", "", Place::kInFirstUserTurn),
      Mistral("mistral-v1", " [INST] ", " [/INST]", " ", Place::kInFirstUserTurn),
      Mistral("mistral-v3", "[INST] ", "[/INST]", " ", Place::kInLastUserTurn, true),
      Mistral("mistral-v3-tekken", "[INST]", "[/INST]", "", Place::kInLastUserTurn),
      MistralV7("mistral-v7", " "),
      MistralV7("mistral-v7-tekken", ""),
      Harmony(),
      Glm4(),
      Glm45(),
      Glm47(),
      DeepSeekV2(),
      DeepSeekV3(),
      DeepSeekV31(),
      Granite(),
      Gemma(),
      KimiK2(),
      MiniMaxM2(),
  };
}

}  // namespace

absl::Span<const ChatStyle> ChatStyles() {
  static const std::vector<ChatStyle>& styles = *new std::vector<ChatStyle>(MakeStyles());
  return styles;
}

const ChatStyle* FindChatStyle(absl::string_view name) {
  const absl::Span<const ChatStyle> styles = ChatStyles();
  const auto style = std::find_if(styles.begin(), styles.end(),
                                  [&](const ChatStyle& s) { return s.name == name; });
  return style == styles.end() ? nullptr : &*style;
}

std::string ChatStyleNames() {
  return absl::StrJoin(ChatStyles(), ", ", [](std::string* out, const ChatStyle& style) {
    absl::StrAppend(out, style.name);
  });
}

}  // namespace strata
