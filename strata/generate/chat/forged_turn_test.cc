// Nothing that a conversation says becomes a special token, whatever the template does with it and
// whatever type the vocabulary gives the mark.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_writer.h"
#include "strata/core/gguf/scratch_file.h"
#include "strata/core/test_seed.h"
#include "strata/generate/chat/chat_format.h"
#include "strata/generate/chat/chat_message.h"
#include "strata/generate/chat/jinja/testing/python_jinja.h"
#include "strata/generate/chat/jinja/testing/template_generator.h"
#include "strata/generate/chat/jinja/value_from_json.h"
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
using jinja::TemplateGenerator;

// Marks with a letter that no template writes: where one of their tokens is, content made it. There
// are three of each shape, so that each shape is a token of each type.
const std::vector<std::string>& ForgedMarks() {
  static const std::vector<std::string>& marks = *new std::vector<std::string>{
      "<|한|>", "<|글|>", "<|각|>", "<｜한｜>", "<｜글｜>", "<｜각｜>", "]~한]", "]~글]", "]~각]"};
  return marks;
}

// Marks of templates, after those above; their number is a multiple of three.
std::vector<std::string> VocabularyMarks() {
  std::vector<std::string> marks = ForgedMarks();
  std::set<std::string> of_templates = {"</think>", "]~b]"};
  for (const jinja::NamedTemplate& one : jinja::ReadChatTemplates()) {
    for (const absl::string_view mark : FindTokenMarks(one.source)) of_templates.emplace(mark);
  }
  marks.insert(marks.end(), of_templates.begin(), of_templates.end());
  return marks;
}

class ForgedTurnTest : public testing::Test {
 protected:
  using AddTokenizer = void (*)(const std::vector<std::string>&, GgufWriter&);

  ForgedTurnTest() : marks_(VocabularyMarks()), generator_(TestSeed()) {
    for (const AddTokenizer add : {&AddBytePairTokenizer, &AddSentencePieceTokenizer}) {
      GgufWriter writer;
      add(marks_, writer);
      ScratchFile scratch;
      scratch.Set(writer.Build());
      tokenizers_.push_back(LoadTokenizer(*GgufFile::Open(scratch.path()).value()).value());
    }
  }

  // Marks, whole and in parts, and what may join them.
  std::string RandomContent() {
    const std::vector<std::string> others = {" ", "\n", "|>", "<|", "t", "<s>", "user\n"};
    std::string content;
    for (size_t i = generator_.Below(6); i > 0; --i) {
      const std::string& mark = generator_.Below(2) == 0
                                    ? marks_[generator_.Below(marks_.size())]
                                    : ForgedMarks()[generator_.Below(ForgedMarks().size())];
      switch (generator_.Below(4)) {
        case 0:
          content += others[generator_.Below(others.size())];
          break;
        case 1:
          content += mark.substr(0, generator_.Below(mark.size() + 1));
          break;
        default:
          content += mark;
      }
    }
    return content;
  }

  // The prompt's special tokens are those of the template's own text, in their order.
  void ExpectNoneForged(absl::Span<const TextPiece> pieces) {
    for (const std::unique_ptr<Tokenizer>& tokenizer : tokenizers_) {
      std::vector<TokenId> written;
      for (const TextPiece& piece : pieces) {
        if (piece.special_text != SpecialText::kIsToken) continue;
        for (const TokenId id : SpecialsIn(*tokenizer, {&piece, 1})) written.push_back(id);
      }
      const std::vector<TokenId> ids = SpecialsIn(*tokenizer, pieces);
      EXPECT_EQ(ids, written);
      for (const std::string& mark : ForgedMarks()) {
        const std::optional<TokenId> id = tokenizer->SpecialTokenOf(mark);
        // One that is normal and of no known shape is no special token anyway.
        ASSERT_TRUE(id.has_value() || mark[0] == ']') << mark;
        EXPECT_TRUE(!id.has_value() || std::find(ids.begin(), ids.end(), *id) == ids.end()) << mark;
      }
      num_written_ += static_cast<int64_t>(written.size());
    }
  }

  const std::vector<std::unique_ptr<Tokenizer>>& tokenizers() const { return tokenizers_; }
  int64_t num_written() const { return num_written_; }
  TemplateGenerator& generator() { return generator_; }

 private:
  // The special tokens among the ids of a prompt.
  static std::vector<TokenId> SpecialsIn(const Tokenizer& tokenizer,
                                         absl::Span<const TextPiece> pieces) {
    std::vector<TokenId> ids = tokenizer.EncodePieces(pieces).value();
    const auto is_text = [&](TokenId id) {
      return tokenizer.SpecialTokenOf(tokenizer.BytesOf(id)) != id;
    };
    ids.erase(std::remove_if(ids.begin(), ids.end(), is_text), ids.end());
    return ids;
  }

  const std::vector<std::string> marks_;
  std::vector<std::unique_ptr<Tokenizer>> tokenizers_;
  TemplateGenerator generator_;
  int64_t num_written_ = 0;
};

TEST_F(ForgedTurnTest, IsImpossibleInTemplatesOfModels) {
  const std::vector<jinja::NamedTemplate> templates = jinja::ReadChatTemplates();
  const int64_t num_rounds = TestSteps(10);
  int num_prompts = 0;
  for (const jinja::NamedTemplate& one : templates) {
    for (int64_t i = 0; i < num_rounds; ++i) {
      SCOPED_TRACE(one.name);
      ChatFormat::Variables variables;
      variables.tools = {{{"type", "function"},
                          {"function",
                           {{"name", RandomContent()},
                            {"description", RandomContent()},
                            {"parameters", {{"properties", Json::object()}}}}}}};
      variables.arguments = {{"enable_thinking", true}, {"date_string", RandomContent()}};
      const std::vector<ChatMessage> messages = {
          ChatMessage::System(RandomContent()),
          ChatMessage::User(RandomContent()),
          {ChatMessage::Role::kAssistant, ChatMessage::User(RandomContent()).content},
          ChatMessage::User(RandomContent())};
      const absl::Span<const ChatMessage> all = messages;
      const ChatFormat format =
          ChatFormat::Create(PromptTemplate::Parse(one.source, one.name).value(),
                             *tokenizers().front(), variables)
              .value();
      const absl::StatusOr<std::vector<TextPiece>> pieces = format.Format(all.subspan(i % 2), {});
      if (!pieces.ok()) continue;
      ++num_prompts;
      ExpectNoneForged(*pieces);
    }
  }
  EXPECT_GT(num_prompts, static_cast<int>(templates.size() * num_rounds / 2));
  EXPECT_GT(num_written(), num_prompts);
}

TEST_F(ForgedTurnTest, IsImpossibleInRandomTemplates) {
  const int64_t num_rounds = TestSteps(1000);
  for (int64_t i = 0; i < num_rounds; ++i) {
    const std::string source = absl::StrCat("</think>", generator().Template(), "]~b]");
    SCOPED_TRACE(source);
    absl::StatusOr<PromptTemplate> prompt_template = PromptTemplate::Parse(source, "random");
    if (!prompt_template.ok()) continue;
    Json context = {{"a", 3}, {"b", 7}, {"l", {3, 1, 2}}};
    for (const char* name : {"s", "u"}) context[name] = RandomContent();
    context["ls"] = {RandomContent(), RandomContent()};
    context["d"] = {{"x", RandomContent()}, {"y", RandomContent()}};
    for (int message = 0; message < 3; ++message) {
      context["messages"].push_back({{"role", "user"}, {"content", RandomContent()}});
    }
    const absl::StatusOr<std::vector<TextPiece>> pieces =
        prompt_template->Render(jinja::ValueFromJson(context, /*is_content=*/true).value(), {});
    if (pieces.ok()) ExpectNoneForged(*pieces);
  }
  EXPECT_GT(num_written(), num_rounds);
}

}  // namespace
}  // namespace strata
