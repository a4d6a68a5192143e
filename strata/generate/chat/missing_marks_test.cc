#include "strata/generate/chat/missing_marks.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/generate/tokenizer/load_tokenizer.h"
#include "strata/generate/tokenizer/oracle_strings.h"
#include "strata/generate/tokenizer/text_piece.h"
#include "strata/generate/tokenizer/tokenizer.h"

namespace strata {
namespace {

TEST(MissingMarksTest, AreWhatTheTemplateWroteAndNoTokenIs) {
  const std::unique_ptr<GgufFile> file = GgufFile::Open(OracleVocabularyPath()).value();
  const std::unique_ptr<Tokenizer> tokenizer = LoadTokenizer(*file).value();
  const std::vector<TextPiece> prompt = {{"<|im_start|>user\n", SpecialText::kIsToken},
                                         {"<|eot_id|>", SpecialText::kIsContent},
                                         {"<|im_end|>[INST]<|turn|>[INST]", SpecialText::kIsToken}};
  EXPECT_THAT(MissingMarks(prompt, *tokenizer), testing::ElementsAre("[INST]", "<|turn|>"));
}

}  // namespace
}  // namespace strata
