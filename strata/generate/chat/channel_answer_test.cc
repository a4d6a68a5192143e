#include "strata/generate/chat/channel_answer.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_writer.h"
#include "strata/core/gguf/scratch_file.h"
#include "strata/generate/chat/testing/mark_vocabulary.h"
#include "strata/generate/tokenizer/load_tokenizer.h"
#include "strata/generate/tokenizer/text_piece.h"
#include "strata/generate/tokenizer/tokenizer.h"

namespace strata {
namespace {

std::optional<ChannelAnswer> Read(const std::vector<std::string>& marks, absl::string_view answer) {
  GgufWriter writer;
  AddBytePairTokenizer(marks, writer);
  ScratchFile scratch;
  scratch.Set(writer.Build());
  const std::unique_ptr<GgufFile> file = GgufFile::Open(scratch.path()).value();
  const std::unique_ptr<Tokenizer> tokenizer = LoadTokenizer(*file).value();
  return ReadChannels(*tokenizer, tokenizer->Encode(answer, SpecialText::kIsToken).value());
}

const std::vector<std::string>& Marks() {
  static const std::vector<std::string>& marks = *new std::vector<std::string>{
      "<|channel|>", "<|message|>", "<|start|>", "<|end|>", "<|return|>"};
  return marks;
}

TEST(ChannelAnswerTest, TellsTheAnswerFromTheThinking) {
  const std::optional<ChannelAnswer> answer =
      Read(Marks(),
           "<|channel|>analysis<|message|>A greeting…<|end|><|start|>assistant"
           "<|channel|>commentary to=f<|message|>{}<|end|><|start|>assistant"
           "<|channel|>final<|message|>Hi! Привет<|return|>");
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->thinking, "A greeting…{}");
  EXPECT_EQ(answer->content, "Hi! Привет");
}

TEST(ChannelAnswerTest, TakesAnAnswerThatWasCut) {
  const std::optional<ChannelAnswer> answer = Read(Marks(), "<|channel|>analysis<|message|>A gr");
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->thinking, "A gr");
  EXPECT_EQ(answer->content, "");
}

TEST(ChannelAnswerTest, IsNothingWhereNoChannelIsOpened) {
  EXPECT_FALSE(Read(Marks(), "Hi!<|end|>").has_value());
  EXPECT_FALSE(Read(Marks(), "<|channel|>final").has_value());
  EXPECT_FALSE(Read({"<|end|>"}, "<|channel|>final<|message|>Hi!").has_value());
}

}  // namespace
}  // namespace strata
