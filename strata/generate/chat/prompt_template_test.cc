#include "strata/generate/chat/prompt_template.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/error.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_writer.h"
#include "strata/core/gguf/scratch_file.h"
#include "strata/generate/chat/jinja/value.h"
#include "strata/generate/tokenizer/text_piece.h"

namespace strata {
namespace {

using testing::HasSubstr;

absl::StatusOr<PromptTemplate> OfFile(const GgufWriter& writer, bool has_tools = false) {
  ScratchFile scratch;
  scratch.Set(writer.Build());
  return PromptTemplate::OfFile(*GgufFile::Open(scratch.path()).value(), has_tools);
}

absl::StatusOr<std::vector<TextPiece>> Render(const PromptTemplate& prompt_template) {
  jinja::Dict variables;
  variables.Set("content", jinja::Value::String("C", /*is_content=*/true));
  return prompt_template.Render(jinja::Value::DictOf(variables, nullptr), {});
}

std::string TextOf(const PromptTemplate& prompt_template) {
  const std::vector<TextPiece> pieces = Render(prompt_template).value();
  std::string text;
  for (const TextPiece& piece : pieces) text += piece.text;
  return text;
}

TEST(PromptTemplateTest, RunsTheTemplateOfTheFile) {
  GgufWriter writer;
  writer.Key("tokenizer.chat_template", "a{{ content }}b");
  const std::vector<TextPiece> pieces = Render(OfFile(writer).value()).value();
  EXPECT_THAT(pieces, testing::ElementsAre(TextPiece{"a", SpecialText::kIsToken},
                                           TextPiece{"C", SpecialText::kIsContent},
                                           TextPiece{"b", SpecialText::kIsToken}));
}

TEST(PromptTemplateTest, TakesTheFilesTemplateForToolsWhereThereAreTools) {
  GgufWriter writer;
  writer.Key("tokenizer.chat_template", "plain")
      .Key("tokenizer.chat_template.tool_use", "with tools");
  EXPECT_EQ(TextOf(OfFile(writer).value()), "plain");
  EXPECT_EQ(TextOf(OfFile(writer, /*has_tools=*/true).value()), "with tools");
  GgufWriter one;
  one.Key("tokenizer.chat_template", "plain");
  EXPECT_EQ(TextOf(OfFile(one, /*has_tools=*/true).value()), "plain");
}

TEST(PromptTemplateTest, SaysWhatIsWrongWithAFile) {
  const absl::Status missing = OfFile(GgufWriter()).status();
  EXPECT_EQ(ErrorKind(missing), "chat_template");
  EXPECT_THAT(std::string(missing.message()), HasSubstr("chatml, llama3,"));
  GgufWriter number;
  number.Key("tokenizer.chat_template", uint32_t{1});
  EXPECT_EQ(ErrorKind(OfFile(number).status()), "key_type");
  GgufWriter cut;
  cut.Key("tokenizer.chat_template", "{% for m in messages %}");
  EXPECT_EQ(ErrorKind(OfFile(cut).status()), "chat_template");
}

TEST(PromptTemplateTest, SaysWhatATemplateRefuses) {
  const absl::Status refused =
      Render(PromptTemplate::Parse("{{ raise_exception('No system message, please') }}", "f.jinja")
                 .value())
          .status();
  EXPECT_EQ(ErrorKind(refused), "template_refused");
  EXPECT_EQ(ErrorFile(refused), "f.jinja");
  EXPECT_THAT(std::string(refused.message()), HasSubstr("No system message, please"));
}

TEST(PromptTemplateTest, NamesWhatATemplateCannotDo) {
  for (const char* source : {"{{ ''.__class__.__mro__[1].__subclasses__() }}", "{{ 1 / 0 }}",
                             "{% for a in range(99999) %}{% for b in range(99999) %}{{ b }}"
                             "{% endfor %}{% endfor %}"}) {
    const absl::Status status = Render(PromptTemplate::Parse(source, "f.jinja").value()).status();
    EXPECT_EQ(ErrorKind(status), "chat_template") << source;
    EXPECT_EQ(ExitCodeOf(status), ExitCode::kInputFile) << source;
  }
}

TEST(PromptTemplateTest, ListsTheNamesOfFormats) {
  const absl::Status unknown = PromptTemplate::Named("vicuna").status();
  EXPECT_EQ(ExitCodeOf(unknown), ExitCode::kCommandLine);
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("chatml, llama3,"));
}

}  // namespace
}  // namespace strata
