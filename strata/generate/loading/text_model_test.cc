#include "strata/generate/loading/text_model.h"

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "strata/core/error.h"
#include "strata/generate/testing/random_model.h"

namespace strata {
namespace {

TEST(TextModelTest, AModelWhoseTokenizerIsNoneTakesIds) {
  for (const std::string name : {"none", "no_vocab"}) {
    const RandomModel random = {.texts = {{"tokenizer.ggml.model", name}}};
    const absl::StatusOr<std::unique_ptr<TextModel>> model =
        TextModel::Open(random.Write("without"), {});
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ((*model)->tokenizer(), nullptr);
    EXPECT_EQ(ErrorKind((*model)->NeedTokenizer().status()), "tokenizer_missing");
  }
}

TEST(TextModelTest, ATokenizerThatIsNotKnownIsRefused) {
  const RandomModel random = {.texts = {{"tokenizer.ggml.model", "rwkv"}}};
  const auto model = TextModel::Open(random.Write("unknown"), {});
  EXPECT_EQ(ErrorKind(model.status()), "tokenizer_model") << model.status();
}

}  // namespace
}  // namespace strata
