// Models with a recurrent state: the same bits however a text is cut, gone back in or continued.
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/core/block_type.h"
#include "strata/generate/cpu/cpu_engine.h"
#include "strata/generate/engine/engine.h"
#include "strata/generate/engine/generator.h"
#include "strata/generate/engine/sequence.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/kernels/isa.h"
#include "strata/generate/testing/open_model.h"
#include "strata/generate/testing/random_delta_net.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {
namespace {

using Tokens = std::vector<TokenId>;

// Some text of a vocabulary of 64.
Tokens TextOf(int64_t length, uint32_t seed = 1) {
  Tokens tokens(length);
  for (TokenId& token : tokens) {
    seed = seed * 1664525u + 1013904223u;
    token = static_cast<TokenId>(seed >> 26);
  }
  return tokens;
}

class RecurrentEngineTest : public testing::TestWithParam<std::string> {
 protected:
  RecurrentEngineTest()
      : model_(GetParam() == "random" ? RandomDeltaNet({.type = BlockType::kQ4_K}).Write("random")
                                      : "testdata/oracles/arch/" + GetParam() + ".gguf") {}
  void TearDown() override { SetIsa(BestIsa()); }

  std::unique_ptr<CpuEngine> MakeEngine(const EngineOptions& options = {}) {
    return std::make_unique<CpuEngine>(*model_.file, model_.graph, options);
  }

  // Rows of logits, one after the other.
  static std::vector<float> Feed(Sequence& sequence, absl::Span<const TokenId> tokens) {
    const absl::StatusOr<const StepResult*> result =
        sequence.Feed(tokens, {.logits = Sequence::Want::kAll});
    EXPECT_TRUE(result.ok()) << result.status();
    std::vector<float> logits;
    for (const absl::Span<const float> row : (*result)->logits) {
      logits.insert(logits.end(), row.begin(), row.end());
    }
    return logits;
  }

  // Of all tokens, in one step on one thread.
  std::vector<float> Whole(absl::Span<const TokenId> tokens) {
    const std::unique_ptr<CpuEngine> engine = MakeEngine();
    Sequence sequence(*engine);
    return Feed(sequence, tokens);
  }

  // The rows of the tokens that were fed last.
  std::vector<float> LastRows(const std::vector<float>& logits, int64_t num_rows) {
    return {logits.end() - num_rows * model_.graph.vocabulary, logits.end()};
  }

  OpenModel model_;
};

TEST_P(RecurrentEngineTest, NeitherStepsNorThreadsNorInstructionsChangeABit) {
  const Tokens text = TextOf(75);
  const std::vector<float> whole = Whole(text);
  for (const Isa isa : AllIsas()) {
    if (!IsSupported(isa)) continue;
    SetIsa(isa);
    for (const int threads : {1, 3}) {
      const std::unique_ptr<CpuEngine> engine = MakeEngine({.num_threads = threads});
      Sequence sequence(*engine);
      std::vector<float> logits;
      size_t at = 0;
      for (const size_t step : {1, 2, 1, 7, 33, 3, 28}) {
        const std::vector<float> rows = Feed(sequence, absl::MakeConstSpan(text).subspan(at, step));
        logits.insert(logits.end(), rows.begin(), rows.end());
        at += step;
      }
      ASSERT_EQ(at, text.size());
      EXPECT_TRUE(logits == whole) << NameOf(isa) << ", " << threads << " threads";
    }
  }
}

TEST_P(RecurrentEngineTest, GoesBackWithTheBitsThatItHadThere) {
  const Tokens text = TextOf(300);
  const std::vector<float> whole = Whole(text);
  const std::unique_ptr<CpuEngine> engine = MakeEngine();
  Sequence sequence(*engine);
  Feed(sequence, text);
  // To before the end, to the grid, and to where nothing was kept until it was asked for.
  const std::vector<std::pair<int64_t, int64_t>> asked_and_reached = {
      {299, 284}, {283, 256}, {120, 0}, {120, 120}, {200, 120}, {300, 300}};
  for (const auto& [asked, reached] : asked_and_reached) {
    ASSERT_EQ(sequence.Rewind(asked), reached);
    if (reached == 300) continue;
    // Other tokens first, and back again.
    Feed(sequence, TextOf(20, 99));
    ASSERT_EQ(sequence.Rewind(reached), reached);
    const std::vector<float> rows = Feed(sequence, absl::MakeConstSpan(text).subspan(reached));
    EXPECT_TRUE(rows == LastRows(whole, 300 - reached)) << "from " << reached;
  }
}

TEST_P(RecurrentEngineTest, AStepThatWasStoppedIsAsIfItHadNotBeen) {
  const Tokens text = TextOf(40);
  const std::vector<float> whole = Whole(text);
  const std::unique_ptr<CpuEngine> engine = MakeEngine();
  Sequence sequence(*engine);
  Feed(sequence, absl::MakeConstSpan(text).subspan(0, 20));
  for (int layers = 1; layers <= 3; ++layers) {
    int asked = 0;
    const std::function<bool()> stop = [&] { return ++asked == layers; };
    const absl::Status status = sequence.Feed(TextOf(10, 7), {}, &stop).status();
    if (layers <= static_cast<int>(model_.graph.layers.size())) {
      EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
    } else {
      sequence.Rewind(20);
    }
    ASSERT_EQ(sequence.position(), 20);
  }
  const std::vector<float> rows = Feed(sequence, absl::MakeConstSpan(text).subspan(20));
  EXPECT_TRUE(rows == LastRows(whole, 20));
}

TEST_P(RecurrentEngineTest, WithoutSnapshotsItBeginsAgain) {
  const std::unique_ptr<CpuEngine> engine = MakeEngine({.snapshot_bytes = 0});
  Sequence sequence(*engine);
  const Tokens text = TextOf(30);
  Feed(sequence, text);
  Feed(sequence, {1, 2, 3});
  EXPECT_EQ(engine->snapshot_bytes(), 0);
  EXPECT_GT(engine->recurrent_bytes(), 0);
  EXPECT_EQ(sequence.Rewind(29), 0);
  EXPECT_TRUE(Feed(sequence, text) == Whole(text));
}

TEST_P(RecurrentEngineTest, ASecondTurnFeedsOnlyItsOwnTokens) {
  const std::unique_ptr<CpuEngine> engine = MakeEngine({.num_threads = 2});
  Generator generator(*engine, {.max_new = 10, .prompt_batch = 128});
  Tokens text = TextOf(2000);
  const auto run = [&] {
    const absl::StatusOr<Generation> generation = generator.Run(text, {});
    EXPECT_TRUE(generation.ok()) << generation.status();
    return *generation;
  };
  const Generation first = run();
  EXPECT_EQ(first.num_prompt_fed, 2000);
  EXPECT_EQ(first.ids.size(), 10);

  // The answer stays in the text: its last token was drawn and not fed yet.
  const Tokens first_prompt = text;
  text.insert(text.end(), first.ids.begin(), first.ids.end());
  const Tokens question = TextOf(25, 5);
  text.insert(text.end(), question.begin(), question.end());
  const Generation second = run();
  EXPECT_EQ(second.num_prompt_fed, 1 + 25);

  // The answer is taken out of the text, as templates do with thoughts: the second prompt parts from
  // the first one a few tokens before its end.
  text = first_prompt;
  text.resize(1995);
  text.insert(text.end(), question.begin(), question.end());
  EXPECT_EQ(run().num_prompt_fed, 11 + 25);

  // Another question at the same place.
  text.resize(1995);
  const Tokens other = TextOf(30, 6);
  text.insert(text.end(), other.begin(), other.end());
  EXPECT_LE(run().num_prompt_fed, 31);
}

INSTANTIATE_TEST_SUITE_P(Models, RecurrentEngineTest,
                         testing::Values("random", "qwen3next", "qwen35moe", "lfm2moe"));

}  // namespace
}  // namespace strata
