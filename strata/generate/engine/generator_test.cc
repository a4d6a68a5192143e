#include "strata/generate/engine/generator.h"

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/block_type.h"
#include "strata/generate/cpu/cpu_engine.h"
#include "strata/generate/testing/open_model.h"
#include "strata/generate/testing/random_model.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {
namespace {

using ::testing::SizeIs;

const std::vector<TokenId> kPrompt = {5, 40, 12, 33, 7, 7, 21};

class GeneratorTest : public ::testing::Test {
 protected:
  static Generation Run(Generator& generator, const std::vector<TokenId>& prompt,
                        const Generator::Callbacks& callbacks = {}) {
    absl::StatusOr<Generation> generation = generator.Run(prompt, callbacks);
    EXPECT_TRUE(generation.ok()) << generation.status();
    return *std::move(generation);
  }

  // From a fresh engine.
  Generation Fresh(const Generator::Options& options, const std::vector<TokenId>& prompt,
                   const Generator::Callbacks& callbacks = {}, int64_t max_context = 0) const {
    CpuEngine engine(*model_.file, model_.graph, {.max_context = max_context});
    Generator generator(engine, options);
    return Run(generator, prompt, callbacks);
  }

  const OpenModel model_ = OpenModel(RandomModel{.type = BlockType::kQ8_0}.Write("generator"));
};

TEST_F(GeneratorTest, EndsWithAsManyTokensAsAskedFor) {
  const Generation generation = Fresh({.max_new = 5}, kPrompt);
  EXPECT_THAT(generation.ids, SizeIs(5));
  EXPECT_EQ(generation.stop_reason, StopReason::kLength);
  EXPECT_EQ(generation.num_prompt, 7);
  EXPECT_EQ(generation.num_prompt_fed, 7);
  EXPECT_THAT(Fresh({.max_new = 0}, kPrompt).ids, SizeIs(0));
}

TEST_F(GeneratorTest, EndsWhenTheContextIsFull) {
  const Generation generation = Fresh({.max_new = 100}, kPrompt, {}, /*max_context=*/10);
  EXPECT_THAT(generation.ids, SizeIs(3));
  EXPECT_EQ(generation.stop_reason, StopReason::kContext);
}

TEST_F(GeneratorTest, EndsAtAnEndTokenWhichIsPartOfTheIds) {
  const std::vector<TokenId> all = Fresh({.max_new = 5}, kPrompt).ids;
  std::vector<TokenId> seen;
  const Generation generation =
      Fresh({.max_new = 5}, kPrompt,
            {.ends_text = [&](TokenId id) { return id == all[2]; },
             .on_token = [&](TokenId id) { return seen.push_back(id), true; }});
  EXPECT_EQ(generation.stop_reason, StopReason::kEos);
  EXPECT_EQ(generation.ids.back(), all[2]);
  EXPECT_EQ(seen, std::vector<TokenId>(generation.ids.begin(), generation.ids.end() - 1));
}

TEST_F(GeneratorTest, EndsWhenTheCallerHasEnough) {
  int num_tokens = 0;
  const Generation generation =
      Fresh({.max_new = 9}, kPrompt, {.on_token = [&](TokenId) { return ++num_tokens < 3; }});
  EXPECT_EQ(generation.stop_reason, StopReason::kStop);
  EXPECT_THAT(generation.ids, SizeIs(3));
}

TEST_F(GeneratorTest, AnInterruptEndsBetweenSteps) {
  bool interrupted = false;
  const Generation generation = Fresh({.max_new = 9}, kPrompt,
                                      {.on_token = [&](TokenId) { return interrupted = true; },
                                       .is_interrupted = [&] { return interrupted; }});
  EXPECT_EQ(generation.stop_reason, StopReason::kInterrupt);
  EXPECT_THAT(generation.ids, SizeIs(1));
}

TEST_F(GeneratorTest, AnInterruptEndsAStepBetweenItsLayers) {
  CpuEngine engine(*model_.file, model_.graph, {});
  Generator generator(engine, {.max_new = 4});
  int num_questions = 0;
  const Generation interrupted =
      Run(generator, kPrompt, {.is_interrupted = [&] { return ++num_questions == 2; }});
  EXPECT_EQ(num_questions, 2) << "before the step, and after its first layer";
  EXPECT_EQ(interrupted.stop_reason, StopReason::kInterrupt);
  EXPECT_THAT(interrupted.ids, SizeIs(0));
  const Generation again = Run(generator, kPrompt);
  EXPECT_EQ(again.num_prompt_fed, 7) << "nothing was fed";
  EXPECT_EQ(again.ids, Fresh({.max_new = 4}, kPrompt).ids);
}

TEST_F(GeneratorTest, TheBatchOfThePromptChangesNoBit) {
  const Generator::Options whole = {.max_new = 6, .prompt_batch = 64, .keep_logits = true};
  const Generation expected = Fresh(whole, kPrompt);
  EXPECT_THAT(expected.logits, SizeIs((kPrompt.size() + 6) * 64));
  for (const int64_t batch : {1, 2, 5}) {
    Generator::Options options = whole;
    options.prompt_batch = batch;
    const Generation generation = Fresh(options, kPrompt);
    EXPECT_EQ(generation.ids, expected.ids) << batch;
    EXPECT_EQ(generation.logits, expected.logits) << batch;
  }
}

TEST_F(GeneratorTest, ASecondTurnFeedsOnlyWhatIsNew) {
  CpuEngine engine(*model_.file, model_.graph, {});
  Generator generator(engine, {.max_new = 4});
  std::vector<TokenId> chat = kPrompt;
  const Generation first = Run(generator, chat);
  chat.insert(chat.end(), first.ids.begin(), first.ids.end());
  chat.push_back(50);
  const Generation second = Run(generator, chat);
  EXPECT_EQ(second.num_prompt_fed, 2) << "the last id of the answer, and the new one";
  EXPECT_EQ(second.ids, Fresh({.max_new = 4}, chat).ids);
}

TEST_F(GeneratorTest, ATurnThatDiffersGoesBackToWhereItDoes) {
  CpuEngine engine(*model_.file, model_.graph, {});
  Generator generator(engine, {.max_new = 4});
  Run(generator, kPrompt);
  const std::vector<TokenId> other = {5, 40, 12, 1, 2};
  const Generation second = Run(generator, other);
  EXPECT_EQ(second.num_prompt_fed, 2);
  EXPECT_EQ(second.ids, Fresh({.max_new = 4}, other).ids);
  const Generation same = Run(generator, other);
  EXPECT_EQ(same.num_prompt_fed, 1) << "the last token's logits are needed";
  EXPECT_EQ(same.ids, second.ids);
}

TEST_F(GeneratorTest, DrawsDependOnThePositionNotOnTheSteps) {
  const SamplerOptions sampling = {.temperature = 2.0f, .seed = 9};
  const std::vector<TokenId> ids = Fresh({.sampling = sampling, .max_new = 8}, kPrompt).ids;
  std::vector<TokenId> longer = kPrompt;
  longer.insert(longer.end(), ids.begin(), ids.begin() + 3);
  EXPECT_EQ(Fresh({.sampling = sampling, .max_new = 5, .prompt_batch = 3}, longer).ids,
            std::vector<TokenId>(ids.begin() + 3, ids.end()));
}

}  // namespace
}  // namespace strata
