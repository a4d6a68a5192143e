// Models with a recurrent state: the same bits however a text is cut, gone back in or continued.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/core/block_type.h"
#include "strata/core/gguf/gguf_writer.h"
#include "strata/generate/blocks/random_weights.h"
#include "strata/generate/cpu/cpu_engine.h"
#include "strata/generate/engine/engine.h"
#include "strata/generate/engine/generator.h"
#include "strata/generate/engine/sequence.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/kernels/isa.h"
#include "strata/generate/testing/open_model.h"
#include "strata/generate/testing/random_delta_net.h"
#include "strata/generate/testing/random_model.h"
#include "strata/generate/testing/random_streams.h"
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
               : GetParam() == "streams"
                   ? RandomStreams({.type = BlockType::kQ4_K}).Write("streams")
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

  // The answer is taken out of the text, as templates do with thoughts: the second prompt parts
  // from the first one a few tokens before its end.
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

TEST_P(RecurrentEngineTest, APromptWhoseLastTokenIsAStepEndsThereToo) {
  const std::unique_ptr<CpuEngine> engine = MakeEngine();
  Generator generator(*engine, {.max_new = 5, .prompt_batch = 50});
  Tokens text = TextOf(101);
  ASSERT_TRUE(generator.Run(text, {}).ok());
  text.push_back(text.back());
  const absl::StatusOr<Generation> second = generator.Run(text, {});
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->num_prompt_fed, 1);
}

using Tensors = std::vector<RandomModel::Tensor>;

constexpr int64_t kRowBytes = 256 * int64_t{sizeof(float)};

// Rows of a projection of RandomDeltaNet.
std::string Rows(const std::string& bytes, int64_t first, int64_t count) {
  return bytes.substr(first * kRowBytes, count * kRowBytes);
}

// Weights of a delta net's projections that do not depend on the form that they are written in.
void GiveWeights(Tensors& tensors) {
  for (RandomModel::Tensor& tensor : tensors) {
    for (const char* name : {"attn_qkv", "attn_gate", "ssm_beta", "ssm_alpha"}) {
      if (tensor.name != absl::StrCat("blk.0.", name, ".weight")) continue;
      std::mt19937 random(static_cast<uint32_t>(tensor.dims[1]) + (name[4] == 'b' ? 1 : 0));
      std::normal_distribution<float> normal(0.0f, 0.1f);
      std::vector<float> values(tensor.dims[0] * tensor.dims[1]);
      for (float& value : values) value = normal(random);
      tensor.bytes = RandomModel::Bytes(values);
    }
  }
}

// The same in two tensors: of each key head its query, its key, its values and their gates; and
// the betas and alphas of its value heads. Value heads h and h + 2 use key head h.
void Fuse(Tensors& tensors) {
  GiveWeights(tensors);
  std::map<std::string, std::string> bytes;
  for (const RandomModel::Tensor& tensor : tensors) bytes[tensor.name] = tensor.bytes;
  const std::string& qkv = bytes["blk.0.attn_qkv.weight"];
  const std::string& gate = bytes["blk.0.attn_gate.weight"];
  std::string fused, factors;
  for (const int64_t head : {0, 1}) {
    fused += Rows(qkv, head * 48, 48) + Rows(qkv, 96 + head * 48, 48) +
             Rows(qkv, 192 + head * 48, 48) + Rows(qkv, 192 + (head + 2) * 48, 48) +
             Rows(gate, head * 48, 48) + Rows(gate, (head + 2) * 48, 48);
    for (const char* name : {"blk.0.ssm_beta.weight", "blk.0.ssm_alpha.weight"}) {
      factors += Rows(bytes[name], head, 1) + Rows(bytes[name], head + 2, 1);
    }
  }
  Tensors rest;
  for (RandomModel::Tensor& tensor : tensors) {
    if (tensor.name == "blk.0.attn_qkv.weight") {
      rest.push_back({"blk.0.ssm_in.weight", BlockType::kF32, {256, 576}, fused});
    } else if (tensor.name == "blk.0.ssm_beta.weight") {
      rest.push_back({"blk.0.ssm_ba.weight", BlockType::kF32, {256, 8}, factors});
    } else if (tensor.name != "blk.0.attn_gate.weight" && tensor.name != "blk.0.ssm_alpha.weight") {
      rest.push_back(std::move(tensor));
    }
  }
  tensors = std::move(rest);
}

// Behind a short text; none when it fails.
std::vector<float> LastLogits(const OpenModel& model) {
  CpuEngine engine(*model.file, model.graph, {});
  Sequence sequence(engine);
  const absl::StatusOr<const StepResult*> result =
      sequence.Feed(TextOf(20), {.logits = Sequence::Want::kLast});
  EXPECT_TRUE(result.ok()) << result.status();
  if (!result.ok()) return {};
  const absl::Span<const float> row = (*result)->logits.front();
  return {row.begin(), row.end()};
}

TEST(DeltaNetFormsTest, FusedProjectionsAreTheSameModel) {
  std::vector<float> logits[2];
  for (const bool is_fused : {false, true}) {
    const OpenModel model(RandomDeltaNet({.edit = is_fused ? Fuse : GiveWeights})
                              .Write(is_fused ? "fused" : "split"));
    logits[is_fused] = LastLogits(model);
    ASSERT_FALSE(logits[is_fused].empty());
  }
  EXPECT_TRUE(logits[0] == logits[1]);
}

TEST(TableOfRowsTest, ATokenTouchesARowForEachHead) {
  const OpenModel model(RandomStreams().Write("counted"));
  CpuEngine engine(*model.file, model.graph, {});
  Sequence sequence(engine);
  ASSERT_TRUE(sequence.Feed(TextOf(7), {}).ok());
  EXPECT_EQ(engine.counters().table_rows, 7 * 4);
  ASSERT_TRUE(sequence.Feed({1}, {}).ok());
  EXPECT_EQ(engine.counters().table_rows, 8 * 4);
}

// Its bytes, which do not depend on the tensors before it.
void GiveTable(Tensors& tensors) {
  for (RandomModel::Tensor& tensor : tensors) {
    if (tensor.name != "per_layer_token_embd.weight") continue;
    std::mt19937 random(7);
    const std::vector<std::byte> bytes =
        RandomWeights(tensor.type, tensor.dims[0] * tensor.dims[1], random);
    tensor.bytes.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
}

TEST(TableOfRowsTest, MayLieInAFileOfItsOwn) {
  const std::string whole = RandomStreams({.edit = GiveTable}).Write("whole");
  const std::string table_path = testing::TempDir() + "/table_alone.gguf";
  const auto take_table = [&](Tensors& tensors) {
    GiveTable(tensors);
    const auto table = std::find_if(tensors.begin(), tensors.end(), [](const auto& tensor) {
      return tensor.name == "per_layer_token_embd.weight";
    });
    GgufWriter().Tensor(table->name, table->type, table->dims, table->bytes).WriteTo(table_path);
    tensors.erase(table);
  };
  const std::string rest = RandomStreams({.edit = take_table}).Write("rest");
  std::vector<float> logits[2];
  for (const bool is_apart : {false, true}) {
    const OpenModel model(is_apart ? absl::StrCat(rest, ",", table_path) : whole);
    logits[is_apart] = LastLogits(model);
    ASSERT_FALSE(logits[is_apart].empty());
  }
  EXPECT_TRUE(logits[0] == logits[1]);
}

INSTANTIATE_TEST_SUITE_P(Models, RecurrentEngineTest,
                         testing::Values("random", "streams", "qwen3next", "qwen35moe", "lfm2moe"));

}  // namespace
}  // namespace strata
