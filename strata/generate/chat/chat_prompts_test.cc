// From a file to the ids of a prompt: chat templates of many models, against Python's Jinja.
//
// The expected ids are those of the text that Python writes, encoded as a whole with its special
// tokens, as transformers encodes it.

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/civil_time.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "strata/core/error.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_writer.h"
#include "strata/core/gguf/scratch_file.h"
#include "strata/generate/chat/chat_format.h"
#include "strata/generate/chat/chat_message.h"
#include "strata/generate/chat/jinja/marked_text.h"
#include "strata/generate/chat/jinja/testing/python_jinja.h"
#include "strata/generate/chat/prompt_template.h"
#include "strata/generate/chat/testing/mark_vocabulary.h"
#include "strata/generate/tokenizer/load_tokenizer.h"
#include "strata/generate/tokenizer/text_piece.h"
#include "strata/generate/tokenizer/token_id.h"
#include "strata/generate/tokenizer/token_mark.h"
#include "strata/generate/tokenizer/tokenizer.h"

namespace strata {
namespace {

using Json = nlohmann::ordered_json;
using jinja::MarkedText;
using jinja::NamedTemplate;

// One conversation, for us and for Python.
struct Talk {
  std::string name;
  std::vector<ChatMessage> messages;
  ChatFormat::Variables variables;

  Json Context() const {
    Json context = variables.arguments.is_null() ? Json::object() : variables.arguments;
    for (const ChatMessage& message : messages) {
      const char* const role = message.role == ChatMessage::Role::kSystem ? "system"
                               : message.role == ChatMessage::Role::kUser ? "user"
                                                                          : "assistant";
      context["messages"].push_back({{"role", role}, {"content", message.content.text()}});
    }
    context["tools"] = variables.tools;
    context["documents"] = nullptr;
    context["add_generation_prompt"] = true;
    context["bos_token"] = "<s>";
    context["eos_token"] = "</s>";
    return context;
  }
};

constexpr char kTools[] = R"([{"type": "function", "function": {"name": "get_weather",
  "description": "The \"weather\" of é", "parameters": {"type": "object", "properties":
  {"city": {"type": "string", "description": "Town"}, "days": {"type": "integer"}},
  "required": ["city"]}}}])";

// With and without a system message, over one and two turns, with and without tools, with thinking
// left open, on and off.
std::vector<Talk> Talks() {
  MarkedText answer("<think>", /*is_content=*/false);
  answer.Append("\nhm\n", /*is_content=*/true);
  answer.Append("</think>", /*is_content=*/false);
  answer.Append("\n\nTwo, then.", /*is_content=*/true);
  std::vector<Talk> talks;
  for (const bool has_system : {false, true}) {
    for (const bool has_two_turns : {false, true}) {
      for (const bool has_tools : {false, true}) {
        for (const char* thinking : {"null", "true", "false"}) {
          Talk talk = {.name = absl::StrCat(has_system, has_two_turns, has_tools, thinking)};
          if (has_system) talk.messages.push_back(ChatMessage::System("Be brief.\n"));
          talk.messages.push_back(ChatMessage::User("\nThe weather in Tromsø? "));
          if (has_two_turns) {
            talk.messages.push_back({ChatMessage::Role::kAssistant, answer});
            talk.messages.push_back(ChatMessage::User("And then?"));
          }
          if (has_tools) talk.variables.tools = Json::parse(kTools);
          const Json value = Json::parse(thinking);
          if (!value.is_null()) {
            talk.variables.arguments = {{"enable_thinking", value}, {"thinking", value}};
          }
          talks.push_back(std::move(talk));
        }
      }
    }
  }
  return talks;
}

// What all templates write that has the shape of a mark, and some that have not.
std::vector<std::string> Marks() {
  std::set<std::string> marks = {"<think>", "</think>", "]~b]", "[e~[", "<tool_call>"};
  for (const NamedTemplate& one : jinja::ReadChatTemplates()) {
    for (const absl::string_view mark : FindTokenMarks(one.source)) marks.emplace(mark);
  }
  return {marks.begin(), marks.end()};
}

struct Prompt {
  std::string text;
  std::vector<TokenId> ids;
};

// As the program does it.
absl::StatusOr<Prompt> PromptOf(const GgufFile& file, const Tokenizer& tokenizer,
                                const Talk& talk) {
  absl::StatusOr<PromptTemplate> prompt_template =
      PromptTemplate::OfFile(file, !talk.variables.tools.is_null());
  if (!prompt_template.ok()) return prompt_template.status();
  const ChatFormat format =
      ChatFormat::Create(*std::move(prompt_template), tokenizer, talk.variables).value();
  const absl::StatusOr<std::vector<TextPiece>> pieces =
      format.Format(talk.messages, {.now = absl::CivilSecond(2026, 7, 4, 12, 30, 5)});
  if (!pieces.ok()) return pieces.status();
  Prompt prompt = {.ids = tokenizer.EncodePieces(*pieces).value()};
  for (const TextPiece& piece : *pieces) prompt.text += piece.text;
  return prompt;
}

using AddTokenizer = void (*)(const std::vector<std::string>&, GgufWriter&);

class ChatPromptsTest : public testing::TestWithParam<AddTokenizer> {};

TEST_P(ChatPromptsTest, AreThoseOfTheTemplatesInTheirFiles) {
  const std::vector<NamedTemplate> templates = jinja::ReadChatTemplates();
  const std::vector<std::string> marks = Marks();
  const std::vector<Talk> talks = Talks();
  std::vector<jinja::RenderCase> cases;
  for (const NamedTemplate& one : templates) {
    for (const Talk& talk : talks) {
      cases.push_back({absl::StrCat(one.name, ", ", talk.name), one.source, talk.Context()});
    }
  }
  const std::vector<jinja::Outcome> expected = jinja::RenderInPython(cases);
  size_t i = 0;
  int num_prompts = 0;
  for (const NamedTemplate& one : templates) {
    GgufWriter writer;
    GetParam()(marks, writer);
    writer.Key("tokenizer.chat_template", one.source);
    ScratchFile scratch;
    scratch.Set(writer.Build());
    const std::unique_ptr<GgufFile> file = GgufFile::Open(scratch.path()).value();
    const std::unique_ptr<Tokenizer> tokenizer = LoadTokenizer(*file).value();
    for (const Talk& talk : talks) {
      SCOPED_TRACE(cases[i].name);
      const jinja::Outcome& python = expected[i++];
      const absl::StatusOr<Prompt> prompt = PromptOf(*file, *tokenizer, talk);
      ASSERT_EQ(prompt.ok(), !python.is_error) << prompt.status() << python.text;
      if (!prompt.ok()) continue;
      ++num_prompts;
      EXPECT_EQ(prompt->text, python.text);
      EXPECT_EQ(prompt->ids, tokenizer->Encode(python.text, SpecialText::kIsToken).value());
    }
  }
  EXPECT_GE(num_prompts, 1300) << "of " << cases.size();
}

INSTANTIATE_TEST_SUITE_P(OfVocabularies, ChatPromptsTest,
                         testing::Values(&AddBytePairTokenizer, &AddSentencePieceTokenizer));

}  // namespace
}  // namespace strata
