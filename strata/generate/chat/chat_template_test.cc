#include "strata/generate/chat/chat_template.h"

#include <iterator>
#include <optional>
#include <string>

#include "gtest/gtest.h"

namespace strata {
namespace {

// The lines by which published templates are told apart; "\\n" is the two characters that a
// template's string has.
struct Sample {
  const char* style;
  const char* text;
};

constexpr Sample kSamples[] = {
    {"chatml",
     "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + "
     "message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}"},
    {"llama3",
     "{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' + "
     "message['content'] | trim + '<|eot_id|>' %}"},
    {"llama3.1",
     "{{- \"<|start_header_id|>system<|end_header_id|>\\n\\n\" }}{{- \"Cutting Knowledge Date: "
     "December 2023\\n\" }}{{- \"<|eot_id|>\" }}"},
    {"llama4",
     "{{- '<|header_start|>' + message['role'] + '<|header_end|>\\n\\n' }}{{- \"<|eot|>\" }}"},
    {"mistral-v0.1",
     "{{ bos_token }}{{ '[INST] ' + message['content'] + ' [/INST]' }}{{ message['content'] + "
     "eos_token}}"},
    {"mistral-v1",
     "{%- if loop.first and system_message is defined %}{{- \" [INST] \" + system_message + "
     "\"\\n\\n\" + message[\"content\"] + \" [/INST]\" }}"},
    {"mistral-v3",
     "{%- if loop.last and system_message is defined %}{{- \"[INST] \" + system_message + "
     "\"\\n\\n\" + message[\"content\"] + \"[/INST]\" }}"},
    {"mistral-v3-tekken",
     "{%- if loop.last and system_message is defined %}{{- \"[INST]\" + system_message + "
     "\"\\n\\n\" + message[\"content\"] + \"[/INST]\" }}"},
    {"mistral-v7",
     "{{- \"[INST] \" + message[\"content\"] + \"[/INST]\" }}{{- \"[SYSTEM_PROMPT] \" + "
     "message[\"content\"] + \"[/SYSTEM_PROMPT]\" }}"},
    {"mistral-v7-tekken",
     "{{- '[SYSTEM_PROMPT]' + system_message + '[/SYSTEM_PROMPT]' }}{{- '[INST]' + "
     "message['content'] + '[/INST]' }}"},
    {"harmony",
     "{{- \"<|start|>assistant<|channel|>final<|message|>\" + message.content + \"<|end|>\" }}"},
    {"glm4", "[gMASK]<sop>{% for m in messages %}<|user|>\n{{ m.content }}{% endfor %}"},
    {"glm4.5", "[gMASK]<sop><|user|>\n{{ c }}<|assistant|>{{ '\\n<think></think>' }}"},
    {"glm4.7",
     "[gMASK]<sop><|user|>{{ c }}<|assistant|>{{- '</think>' if (enable_thinking is defined and "
     "not enable_thinking) else '<think>' -}}"},
    {"deepseek-v2",
     "{{ 'User: ' + message['content'] + '\\n\\n' }}{{ 'Assistant: ' + message['content'] + "
     "eos_token }}"},
    {"deepseek-v3",
     "{{'<｜User｜>' + message['content']}}{{'<｜Assistant｜>' + content + "
     "'<｜end▁of▁sentence｜>'}}"},
    {"deepseek-v3.1",
     "{{'<｜User｜>' + message['content']}}{{'<｜Assistant｜>'}}{%- if not thinking -%}"
     "{{'</think>'}}"},
    {"granite",
     "{{- '<|start_of_role|>' + message['role'] + '<|end_of_role|>' + message['content'] + "
     "'<|end_of_text|>\\n' }}"},
    {"gemma",
     "{{ '<start_of_turn>' + role + '\\n' + message['content'] | trim + '<end_of_turn>\\n' }}"},
    {"kimi-k2",
     "{{ '<|im_system|>system<|im_middle|>' }}{{ '<|im_user|>user<|im_middle|>' }}<|im_end|>"},
    {"minimax-m2", "{{- ']~b]user' ~ '\\n' }}{{- visible_text(message.content) }}{{- '[e~[' }}"},
};

TEST(ChatTemplateTest, TellsFormatsApartByTheirMarks) {
  for (const Sample& sample : kSamples) {
    const std::optional<ChatStyle> style = RecognizeChatTemplate(sample.text);
    ASSERT_TRUE(style.has_value()) << sample.style;
    EXPECT_EQ(style->name, sample.style);
  }
  EXPECT_EQ(std::size(kSamples), ChatStyles().size());
}

TEST(ChatTemplateTest, KnowsNoOtherTemplates) {
  for (const char* text : {"", "{{ messages }}", "[gMASK]<sop>{{ '<think>' }}",
                           "{{ '[INST] ' + '<<SYS>>' + system + '<</SYS>>' + ' [/INST]' }}",
                           "{{ ''.__class__.__mro__[1].__subclasses__() }}"}) {
    EXPECT_FALSE(RecognizeChatTemplate(text).has_value()) << text;
  }
}

TEST(ChatTemplateTest, TakesTheDefaultSystemMessageFromChatMl) {
  const auto default_of = [](const char* text) {
    return RecognizeChatTemplate(text)->default_system;
  };
  EXPECT_EQ(default_of("{% if messages[0]['role'] != 'system' %}{{ '<|im_start|>system\\nYou are a "
                       "helpful assistant.<|im_end|>\\n' }}{% endif %}"),
            "You are a helpful assistant.");
  // The first place is a piece of program, the second a text.
  EXPECT_EQ(default_of("{{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}"
                       "{{- '<|im_start|>system\\nYou are Qwen.<|im_end|>\\n' }}"),
            "You are Qwen.");
  EXPECT_EQ(default_of("{{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}"),
            "");
}

TEST(ChatTemplateTest, OpensTheReasoningWhereTheTemplateDoes) {
  const auto opening_of = [](const std::string& end) {
    return RecognizeChatTemplate("<|im_start|><|im_end|>{% if add_generation_prompt %}" + end)
        ->answer_opening;
  };
  EXPECT_EQ(opening_of("{{- '<|im_start|>assistant\\n<think>\\n' }}{% endif %}"),
            "<|im_start|>assistant\n<think>\n");
  EXPECT_EQ(opening_of("{{- '<|im_start|>assistant\\n' }}{{- '<think>\\n\\n</think>\\n\\n' }}"
                       "{%- else %}{{- '<think>\\n' }}"),
            "<|im_start|>assistant\n<think>\n");
  EXPECT_EQ(opening_of("{{- '<|im_start|>assistant\\n' }}{{- '<think>\\n\\n</think>\\n\\n' }}"),
            "<|im_start|>assistant\n");
}

TEST(ChatTemplateTest, TakesWhetherAPromptBeginsWithBos) {
  EXPECT_FALSE(RecognizeChatTemplate("<|im_start|><|im_end|>")->begins_with_bos);
  EXPECT_TRUE(RecognizeChatTemplate("{{ bos_token }}<|im_start|><|im_end|>")->begins_with_bos);
}

TEST(ChatTemplateTest, TakesHowReasoningIsDropped) {
  const std::optional<ChatStyle> qwen = RecognizeChatTemplate(
      "<|im_start|><|im_end|>{% set content = content.split('</think>')[-1].lstrip('\\n') %}");
  EXPECT_TRUE(qwen->drops_reasoning && qwen->drops_line_ends_after_reasoning);
  const std::optional<ChatStyle> deepseek = RecognizeChatTemplate(
      "<｜User｜><｜Assistant｜>{% set content = content.split('</think>')[-1] %}");
  EXPECT_TRUE(deepseek->drops_reasoning && !deepseek->drops_line_ends_after_reasoning);
  EXPECT_FALSE(RecognizeChatTemplate("<|im_start|><|im_end|>")->drops_reasoning);
}

TEST(ChatTemplateTest, TakesTheDefaultSystemMessagesOfGranite) {
  const std::string marks = "<|start_of_role|><|end_of_role|>";
  EXPECT_EQ(RecognizeChatTemplate(marks)->default_system, "");
  const std::string granite4 =
      "You are a helpful assistant. Please ensure responses are professional, accurate, and safe.";
  EXPECT_EQ(RecognizeChatTemplate(marks + "'" + granite4 + "'")->default_system, granite4);
  EXPECT_EQ(
      RecognizeChatTemplate(marks + "\"Knowledge Cutoff Date: April 2024.\\n\"")->default_system,
      "Knowledge Cutoff Date: April 2024.\nToday's Date: {date}.\nYou are Granite, developed "
      "by IBM. You are a helpful AI assistant.");
}

TEST(ChatTemplateTest, EndsTheDeveloperMessageAsTheFilesOwnTemplateDoes) {
  const std::string marks = "<|start|><|channel|><|message|>{{- developer_message }}\n";
  EXPECT_EQ(RecognizeChatTemplate(marks + "    {%- endif %}")->system.after, "<|end|>");
  EXPECT_EQ(
      RecognizeChatTemplate(marks + "        {{- \"\\n\\n\" }}\n    {%- endif %}")->system.after,
      "\n\n<|end|>");
}

}  // namespace
}  // namespace strata
