// The engine on a GPU against the CPU's, and against itself: whatever is not numerics is equal in
// every bit.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "strata/cache/host/host_placement.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/tier/layer_stream.h"
#include "strata/cache/tier/tier_counters.h"
#include "strata/core/block_type.h"
#include "strata/core/cuda_device.h"
#include "strata/core/device.h"
#include "strata/core/error.h"
#include "strata/generate/cpu/cpu_engine.h"
#include "strata/generate/cuda/create_cuda_engine.h"
#include "strata/generate/engine/engine.h"
#include "strata/generate/engine/generator.h"
#include "strata/generate/engine/kv_type.h"
#include "strata/generate/engine/sequence.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/placement/expert_placement.h"
#include "strata/generate/sampling/sampler.h"
#include "strata/generate/testing/open_model.h"
#include "strata/generate/testing/random_model.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

// What an engine answers to a text that is fed in steps of `batch`.
struct Answers {
  std::vector<std::vector<float>> logits;             // By position.
  std::vector<std::vector<std::vector<int>>> chosen;  // By position, layer, rank.
};

Answers Read(Engine& engine, absl::Span<const TokenId> ids, int64_t batch) {
  Answers answers;
  Sequence sequence(engine);
  while (!ids.empty()) {
    const absl::Span<const TokenId> step = ids.subspan(0, static_cast<size_t>(batch));
    ids.remove_prefix(step.size());
    const absl::StatusOr<const StepResult*> result =
        sequence.Feed(step, {.logits = Sequence::Want::kAll});
    EXPECT_TRUE(result.ok()) << result.status();
    if (!result.ok()) return answers;
    const StepRouting& routing = (*result)->routing;
    for (size_t row = 0; row < step.size(); ++row) {
      const absl::Span<const float> logits = (*result)->logits[row];
      answers.logits.emplace_back(logits.begin(), logits.end());
      auto& layers = answers.chosen.emplace_back();
      for (int layer = 0; layer < routing.num_layers(); ++layer) {
        const auto chosen = routing.Chosen(layer, static_cast<int>(row));
        layers.emplace_back(chosen.begin(), chosen.end());
      }
    }
  }
  return answers;
}

TokenId ArgMax(const std::vector<float>& logits) {
  return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

float LargestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  float largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

std::vector<TokenId> RandomIds(int64_t vocabulary, size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<TokenId> ids(count);
  for (TokenId& id : ids) {
    id = static_cast<TokenId>(random() % static_cast<uint32_t>(vocabulary));
  }
  return ids;
}

// As the steps of a prompt are.
Answers ReadAsPrompt(Engine& engine, const std::vector<TokenId>& ids, int64_t batch) {
  engine.BeginPrompt();
  Answers answers = Read(engine, ids, batch);
  engine.EndPrompt();
  return answers;
}

// Logits of the last token alone.
std::vector<float> LastOfPrompt(Engine& engine, const std::vector<TokenId>& ids, int64_t batch) {
  Sequence sequence(engine);
  std::vector<float> logits;
  engine.BeginPrompt();
  for (absl::Span<const TokenId> left = ids; !left.empty();) {
    const absl::Span<const TokenId> tokens = left.subspan(0, static_cast<size_t>(batch));
    left.remove_prefix(tokens.size());
    const absl::StatusOr<const StepResult*> result = sequence.Feed(
        tokens, {.logits = left.empty() ? Sequence::Want::kLast : Sequence::Want::kNothing});
    EXPECT_TRUE(result.ok()) << result.status();
    if (result.ok() && left.empty())
      logits.assign((*result)->logits[0].begin(), (*result)->logits[0].end());
  }
  engine.EndPrompt();
  return logits;
}

class CudaEngineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<Device>> device = CreateCudaDevice();
    if (!device.ok()) GTEST_SKIP() << device.status().message();
    device_ = *std::move(device);
  }

  std::unique_ptr<CudaStepEngine> Make(const OpenModel& model,
                                       CudaEngineOptions options = CudaEngineOptions()) {
    absl::StatusOr<std::unique_ptr<CudaStepEngine>> engine =
        CreateCudaEngine(options, *model.file, model.graph, *device_);
    EXPECT_TRUE(engine.ok()) << engine.status();
    return engine.ok() ? *std::move(engine) : nullptr;
  }

  std::unique_ptr<Device> device_;
};

class CudaOracleTest : public CudaEngineTest, public ::testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    CudaEngineTest::SetUp();
    const std::string stem = "testdata/oracles/arch/" + GetParam();
    answers_ = Json::parse(std::ifstream(stem + ".json"));
    model_ = std::make_unique<OpenModel>(stem + ".gguf");
  }

  // Equal choices and close logits, up to the first position whose choices differ.
  void ExpectAsOnTheCpu(const std::vector<TokenId>& prompt, int64_t batch, bool is_prompt) {
    CpuEngine cpu(*model_->file, model_->graph, {.num_threads = 2});
    const Answers expected = Read(cpu, prompt, 64);
    const std::unique_ptr<CudaStepEngine> cuda = Make(*model_);
    ASSERT_NE(cuda, nullptr);
    const Answers got = is_prompt ? ReadAsPrompt(*cuda, prompt, batch) : Read(*cuda, prompt, batch);
    ASSERT_EQ(got.logits.size(), prompt.size());
    float largest = 0;
    for (size_t position = 0; position < prompt.size(); ++position) {
      if (got.chosen[position] != expected.chosen[position]) {
        std::cout << GetParam() << ": choices differ at position " << position
                  << ", where the largest difference of logits before was " << largest << std::endl;
        EXPECT_LE(largest, 1e-3f);
        return;
      }
      largest =
          std::max(largest, LargestDifference(got.logits[position], expected.logits[position]));
      EXPECT_EQ(ArgMax(got.logits[position]), ArgMax(expected.logits[position])) << position;
    }
    EXPECT_LE(largest, 1e-3f);
    std::cout << GetParam() << ": largest difference of logits " << largest << std::endl;
  }

  Json answers_;
  std::unique_ptr<OpenModel> model_;
};

TEST_P(CudaOracleTest, IsCloseToTheCpu) {
  ExpectAsOnTheCpu(answers_["prompt"].get<std::vector<TokenId>>(), 1, /*is_prompt=*/false);
}

TEST_P(CudaOracleTest, PromptsAreCloseToTheCpu) {
  ExpectAsOnTheCpu(answers_["prompt"].get<std::vector<TokenId>>(), 1000, /*is_prompt=*/true);
}

TEST_P(CudaOracleTest, LongPromptsAreCloseToTheCpu) {
  if (!answers_.contains("long")) GTEST_SKIP() << "has no long prompt";
  const auto prompt = answers_["long"]["prompt"].get<std::vector<TokenId>>();
  ExpectAsOnTheCpu(prompt, 16, /*is_prompt=*/false);
  ExpectAsOnTheCpu(prompt, 1000, /*is_prompt=*/true);
}

TEST_P(CudaOracleTest, ArgMaxExpertsAndGreedyTokensAreThoseStored) {
  const auto prompt = answers_["prompt"].get<std::vector<TokenId>>();
  const std::unique_ptr<CudaStepEngine> cuda = Make(*model_);
  ASSERT_NE(cuda, nullptr);
  const Answers got = Read(*cuda, prompt, 5);
  std::vector<TokenId> arg_max;
  for (const std::vector<float>& logits : got.logits) arg_max.push_back(ArgMax(logits));
  EXPECT_EQ(arg_max, answers_["argmax"].get<std::vector<TokenId>>());
  const absl::Span<const int> layers = model_->graph.experts.layers();
  for (size_t i = 0; i < layers.size(); ++i) {
    const Json& by_position = answers_["experts"][std::to_string(layers[i])];
    for (size_t position = 0; position < prompt.size(); ++position) {
      std::vector<int> chosen = got.chosen[position][i];
      std::vector<int> stored = by_position[position].get<std::vector<int>>();
      std::sort(chosen.begin(), chosen.end());
      std::sort(stored.begin(), stored.end());
      EXPECT_EQ(chosen, stored) << "layer " << layers[i] << " position " << position;
    }
  }
  Generator generator(*cuda, {.max_new = 16, .prompt_batch = 5});
  const absl::StatusOr<Generation> generation = generator.Run(prompt, {});
  ASSERT_TRUE(generation.ok()) << generation.status();
  EXPECT_EQ(generation->ids, answers_["greedy"].get<std::vector<TokenId>>());
}

INSTANTIATE_TEST_SUITE_P(Families, CudaOracleTest,
                         ::testing::Values("qwen3moe", "llama", "olmoe", "granitemoe", "gpt-oss",
                                           "glm4moe"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

constexpr char kTinyModel[] = "testdata/strata-tiny-q4_k_m.gguf";

class CudaTinyTest : public CudaEngineTest {
 protected:
  // What the model answers with all experts in slots, one token a step and as a prompt.
  void ReadResident(Answers& steps, Answers& prompt) {
    const auto resident = Make(model_);
    ASSERT_NE(resident, nullptr);
    steps = Read(*resident, ids_, 1);
    prompt = ReadAsPrompt(*resident, ids_, 100);
  }

  const OpenModel model_ = OpenModel(kTinyModel);
  const std::vector<TokenId> ids_ = RandomIds(8000, 300, 7);
};

TEST_F(CudaTinyTest, StepsOfAnyLengthHaveTheSameBits) {
  for (const KvType kv : {KvType::kF32, KvType::kF16, KvType::kInt8}) {
    const auto engine = Make(model_, {.engine = {.kv_type = kv}});
    ASSERT_NE(engine, nullptr);
    const Answers expected = Read(*engine, ids_, 1);
    for (const int64_t batch : {1, 2, 4, 8, 16}) {
      const Answers got = Read(*engine, ids_, batch);
      EXPECT_TRUE(got.logits == expected.logits) << NameOf(kv) << ", steps of " << batch;
      EXPECT_TRUE(got.chosen == expected.chosen) << NameOf(kv) << ", steps of " << batch;
    }
  }
}

TEST_F(CudaTinyTest, PromptsInAnyPiecesHaveTheSameBits) {
  for (const KvType kv : {KvType::kF32, KvType::kF16, KvType::kInt8}) {
    const auto engine = Make(model_, {.engine = {.kv_type = kv, .prompt_batch = 128}});
    ASSERT_NE(engine, nullptr);
    const Answers expected = ReadAsPrompt(*engine, ids_, 300);
    for (const int64_t batch : {1, 7, 16, 37, 100}) {
      const Answers got = ReadAsPrompt(*engine, ids_, batch);
      EXPECT_TRUE(got.logits == expected.logits) << NameOf(kv) << ", steps of " << batch;
      EXPECT_TRUE(got.chosen == expected.chosen) << NameOf(kv) << ", steps of " << batch;
    }
    // Few of whose rows want logits, so that steps are as long as they may be.
    for (const int64_t batch : {40, 128, 300}) {
      EXPECT_EQ(LastOfPrompt(*engine, ids_, batch), expected.logits.back())
          << NameOf(kv) << ", steps of " << batch;
    }
  }
}

TEST_F(CudaTinyTest, PromptsAreCloseToSteps) {
  const auto engine = Make(model_);
  ASSERT_NE(engine, nullptr);
  const Answers steps = Read(*engine, ids_, 1);
  const Answers prompt = ReadAsPrompt(*engine, ids_, 300);
  int num_equal = 0;
  for (size_t i = 0; i < ids_.size(); ++i) {
    num_equal += ArgMax(steps.logits[i]) == ArgMax(prompt.logits[i]);
  }
  EXPECT_GE(num_equal, std::ssize(ids_) * 95 / 100);
}

TEST_F(CudaTinyTest, SequencesInOneStepHaveTheBitsThatTheyHaveAlone) {
  const auto engine = Make(model_);
  ASSERT_NE(engine, nullptr);
  std::vector<std::vector<TokenId>> texts;
  std::vector<Answers> expected;
  for (const uint32_t seed : {1, 2, 3}) {
    texts.push_back(RandomIds(8000, 40 + 30 * seed, seed));
    expected.push_back(Read(*engine, texts.back(), 16));
  }
  std::vector<std::unique_ptr<Sequence>> sequences;
  for (size_t i = 0; i < texts.size(); ++i) {
    sequences.push_back(std::make_unique<Sequence>(*engine));
  }
  std::mt19937 random(5);
  bool is_done = false;
  while (!is_done) {
    is_done = true;
    std::vector<StepRow> rows;
    std::vector<std::pair<size_t, size_t>> at;  // Text and position of each row.
    for (size_t i = 0; i < texts.size(); ++i) {
      const auto position = static_cast<size_t>(sequences[i]->position());
      const size_t count = std::min<size_t>(random() % 6, texts[i].size() - position);
      is_done = is_done && position == texts[i].size();
      if (count == 0) continue;
      sequences[i]->AppendRows(absl::MakeConstSpan(texts[i]).subspan(position, count),
                               {.logits = Sequence::Want::kAll}, rows);
      for (size_t j = 0; j < count; ++j) at.emplace_back(i, position + j);
    }
    if (rows.empty()) continue;
    const absl::StatusOr<const StepResult*> result = engine->Run({.rows = rows});
    ASSERT_TRUE(result.ok()) << result.status();
    for (size_t row = 0; row < at.size(); ++row) {
      const auto [text, position] = at[row];
      EXPECT_EQ((*result)->logits[row], absl::MakeConstSpan(expected[text].logits[position]))
          << "text " << text << " position " << position;
    }
  }
}

TEST_F(CudaTinyTest, TenThousandStepsAreTheSameWithAndWithoutProgrammaticLaunch) {
  // Each engine pins the mapping of its own.
  const OpenModel other(kTinyModel);
  const auto with = Make(model_);
  const auto without = Make(other, {.programmatic_launch = false});
  ASSERT_NE(with, nullptr);
  ASSERT_NE(without, nullptr);
  Sequence a(*with), b(*without);
  TokenId token = 17;
  for (int step = 0; step < 10000; ++step) {
    if (a.position() == 512) {
      a.Rewind(0);
      b.Rewind(0);
    }
    const Sequence::FeedOptions options = {.logits = Sequence::Want::kLast, .draws = true};
    const absl::StatusOr<const StepResult*> left = a.Feed({token}, options);
    const absl::StatusOr<const StepResult*> right = b.Feed({token}, options);
    ASSERT_TRUE(left.ok()) << left.status();
    ASSERT_TRUE(right.ok()) << right.status();
    ASSERT_EQ((*left)->logits.front(), (*right)->logits.front()) << "step " << step;
    token = step % 7 == 0 ? static_cast<TokenId>(step % 8000) : (*left)->drawn.front();
  }
}

TEST_F(CudaTinyTest, DrawsAsTheSamplerOnTheHost) {
  const auto engine = Make(model_);
  ASSERT_NE(engine, nullptr);
  for (const SamplerOptions& sampling :
       {SamplerOptions{}, SamplerOptions{.temperature = 0.8f, .top_p = 0.95f, .seed = 3},
        SamplerOptions{.repetition_penalty = 1.3f}}) {
    Sequence sequence(*engine, sampling);
    Sampler host(sampling);
    std::vector<TokenId> ids = {5, 6, 7};
    std::vector<TokenId> next = ids;
    for (int i = 0; i < 20; ++i) {
      const absl::StatusOr<const StepResult*> result =
          sequence.Feed(next, {.logits = Sequence::Want::kLast, .draws = true});
      ASSERT_TRUE(result.ok()) << result.status();
      ASSERT_EQ((*result)->drawn.front(), *host.Sample((*result)->logits.front(), ids));
      next = {(*result)->drawn.front()};
      ids.push_back(next.front());
    }
  }
}

class CudaPlacementTest : public CudaTinyTest {
 protected:
  void SetUp() override {
    CudaTinyTest::SetUp();
    if (IsSkipped()) return;
    const auto resident = Make(model_);
    ASSERT_NE(resident, nullptr);
    expected_ = Read(*resident, ids_, 8);
    last_of_prompt_ = LastOfPrompt(*resident, ids_, 200);
  }

  // Steps of one row, of several, and prompts, whose experts are brought ahead and by kernels.
  void ExpectSameBits(CudaStepEngine& engine, const std::string& what) {
    for (const int64_t batch : {1, 16, 5}) {
      EXPECT_TRUE(Read(engine, ids_, batch).logits == expected_.logits)
          << what << ", steps of " << batch;
    }
    LayerStream* const stream = engine.experts()->layer_stream();
    ASSERT_NE(stream, nullptr);
    EXPECT_EQ(LastOfPrompt(engine, ids_, 200), last_of_prompt_) << what;
    EXPECT_EQ(stream->bring(), LayerStream::Bring::kAhead);
    EXPECT_GT(stream->num_copied(), 0);
    EXPECT_EQ(LastOfPrompt(engine, ids_, 40), last_of_prompt_) << what;
    EXPECT_EQ(stream->bring(), LayerStream::Bring::kByKernels);
    EXPECT_TRUE(Read(engine, ids_, 1).logits == expected_.logits) << what << ", after prompts";
    const TierCounters counters = engine.experts()->counters();
    EXPECT_EQ(counters.hits + counters.num_misses(), counters.routed);
    EXPECT_EQ(counters.misses[static_cast<int>(MissPath::kRead)], counters.num_misses());
  }

  Answers expected_;
  std::vector<float> last_of_prompt_;
};

TEST_F(CudaPlacementTest, BitsDoNotDependOnWhereExpertsAre) {
  for (const double percent : {0.0, 10.0, 25.0, 50.0}) {
    for (const auto source : {HostPlacement::Choice::kRegistered, HostPlacement::Choice::kArena}) {
      for (const double offered_share : {0.0, 0.025, 0.3}) {
        CudaEngineOptions options;
        options.experts.cache = SlotBudget::Percent(percent);
        options.experts.verify = SlotVerify::kAll;
        options.experts.swaps.adapt_every = 1;
        options.experts.offered_share = offered_share;
        options.experts.host.choice = source;
        const auto engine = Make(model_, options);
        ASSERT_NE(engine, nullptr);
        const std::string what = absl::StrCat(percent, " %, source ", static_cast<int>(source),
                                              ", offered ", offered_share);
        ExpectSameBits(*engine, what);
        const TierCounters counters = engine->experts()->counters();
        EXPECT_EQ(counters.swaps_visible > 0, percent > 0 && offered_share == 0) << what;
        EXPECT_EQ(counters.landed > 0, percent > 0 && offered_share > 0) << what;
      }
    }
  }
}

TEST_F(CudaPlacementTest, NorOnSlotsThatPromptsBorrow) {
  CudaEngineOptions options;
  options.experts.cache = SlotBudget::Percent(50);
  options.experts.offered_share = 0.025;
  options.experts.lend = 8;
  const auto engine = Make(model_, options);
  ASSERT_NE(engine, nullptr);
  ExpectSameBits(*engine, "lending");
  EXPECT_GT(engine->experts()->counters().lent, 0);
}

// Who computes what has no slot, and how it comes into one.
struct Misses {
  std::string name;
  ExpertPlacement::Misses who = ExpertPlacement::Misses::kRead;
  double offered_share = 0;
  int max_swaps = 32;
};

TEST_F(CudaTinyTest, BitsDoNotDependOnWhoServesMissesAndHowTheyComeIntoSlots) {
  using Who = ExpertPlacement::Misses;
  Answers expected, expected_prompt;
  ASSERT_NO_FATAL_FAILURE(ReadResident(expected, expected_prompt));
  const Misses all[] = {{"cpu", Who::kCpu, 0},
                        {"cpu, fixed slots", Who::kCpu, 0, 0},
                        {"stage", Who::kStage, 0},
                        {"auto", Who::kAuto, 0.2}};
  for (const Misses& misses : all) {
    for (const double percent : {0.0, 10.0, 25.0, 50.0, 100.0}) {
      for (const bool fills : {false, true}) {
        SCOPED_TRACE(absl::StrCat(misses.name, ", ", percent, " %, filled ", fills));
        CudaEngineOptions options = {.engine = {.num_threads = 2}};
        options.experts.cache = SlotBudget::Percent(percent);
        options.experts.prefill =
            fills ? ExpertPlacement::Prefill::kOn : ExpertPlacement::Prefill::kOff;
        options.experts.verify = SlotVerify::kAll;
        options.experts.swaps.adapt_every = 1;
        options.experts.swaps.max_swaps = misses.max_swaps;
        options.experts.offered_share = misses.offered_share;
        options.experts.misses = misses.who;
        const auto engine = Make(model_, options);
        ASSERT_NE(engine, nullptr);
        for (const int64_t batch : {1, 5, 1}) {
          EXPECT_TRUE(Read(*engine, ids_, batch).logits == expected.logits) << batch;
        }
        EXPECT_TRUE(ReadAsPrompt(*engine, ids_, 100).logits == expected_prompt.logits);
        const TierCounters counters = engine->experts()->counters();
        EXPECT_EQ(counters.hits + counters.num_misses(), counters.routed);
        if (percent == 100.0) continue;
        EXPECT_EQ(counters.misses[static_cast<int>(MissPath::kCpu)] > 0,
                  misses.who == Who::kCpu || misses.who == Who::kAuto);
        EXPECT_EQ(counters.misses[static_cast<int>(MissPath::kStage)] > 0,
                  misses.who == Who::kStage);
        EXPECT_TRUE(percent < 25.0 || (counters.landed > 0) == (misses.offered_share > 0));
      }
    }
  }
}

TEST_F(CudaTinyTest, NorOnWhatCouldBePinned) {
  using Who = ExpertPlacement::Misses;
  Answers expected, expected_prompt;
  ASSERT_NO_FATAL_FAILURE(ReadResident(expected, expected_prompt));
  // Stages take some of it.
  for (const int64_t pin_budget : {int64_t{8} << 20, int64_t{10} << 20}) {
    for (const Misses& misses :
         {Misses{"read", Who::kRead, 0.1}, Misses{"cpu", Who::kCpu, 0},
          Misses{"stage", Who::kStage, 0}, Misses{"auto", Who::kAuto, 0.1}}) {
      for (const double percent : {0.0, 25.0}) {
        SCOPED_TRACE(absl::StrCat(misses.name, ", ", percent, " %, pins ", pin_budget));
        CudaEngineOptions options = {.engine = {.num_threads = 2}};
        options.experts.cache = SlotBudget::Percent(percent);
        options.experts.verify = SlotVerify::kAll;
        options.experts.swaps.adapt_every = 1;
        options.experts.offered_share = misses.offered_share;
        options.experts.misses = misses.who;
        options.experts.host.pin_budget = pin_budget;
        const auto engine = Make(model_, options);
        ASSERT_NE(engine, nullptr);
        ASSERT_GT(engine->experts()->num_unreadable(), 0);
        for (const int64_t batch : {1, 5, 1}) {
          EXPECT_TRUE(Read(*engine, ids_, batch).logits == expected.logits) << batch;
        }
        for (const int64_t batch : {100, 7}) {
          EXPECT_TRUE(ReadAsPrompt(*engine, ids_, batch).logits == expected_prompt.logits) << batch;
        }
      }
    }
  }
}

TEST_F(CudaTinyTest, AStoppedStepLeavesNothing) {
  const auto engine = Make(model_);
  ASSERT_NE(engine, nullptr);
  Sequence sequence(*engine);
  const std::function<bool()> stop = [] { return true; };
  EXPECT_EQ(sequence.Feed(ids_, {}, &stop).status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(sequence.position(), 0);
  const Answers expected = ReadAsPrompt(*engine, ids_, 16);
  const absl::StatusOr<const StepResult*> result =
      sequence.Feed(ids_, {.logits = Sequence::Want::kLast});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ((*result)->logits.front(), absl::MakeConstSpan(expected.logits.back()));
}

TEST_F(CudaTinyTest, APromptThatIsStoppedInAnyLayerLeavesNothing) {
  CudaEngineOptions options;
  options.experts.cache = SlotBudget::Percent(25);
  const auto engine = Make(model_, options);
  ASSERT_NE(engine, nullptr);
  const std::vector<TokenId> turn(ids_.begin(), ids_.begin() + 100);
  const std::vector<float> expected = LastOfPrompt(*engine, ids_, 300);
  const auto num_layers = static_cast<int>(model_.graph.layers.size());
  for (int stop_after = 1; stop_after <= num_layers; ++stop_after) {
    Sequence sequence(*engine);
    engine->BeginPrompt();
    ASSERT_TRUE(sequence.Feed(turn, {}).ok());
    int num_asked = 0;
    const std::function<bool()> stop = [&] { return ++num_asked == stop_after; };
    const absl::Span<const TokenId> rest = absl::MakeConstSpan(ids_).subspan(100);
    EXPECT_EQ(sequence.Feed(rest, {.logits = Sequence::Want::kLast}, &stop).status().code(),
              absl::StatusCode::kCancelled);
    EXPECT_EQ(num_asked, stop_after) << "later layers were launched";
    EXPECT_EQ(sequence.position(), 100);
    engine->EndPrompt();
    engine->BeginPrompt();
    const absl::StatusOr<const StepResult*> result =
        sequence.Feed(rest, {.logits = Sequence::Want::kLast});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ((*result)->logits.front(), absl::MakeConstSpan(expected)) << stop_after;
    engine->EndPrompt();
  }
}

TEST_F(CudaTinyTest, TooLittleMemoryIsSaidInNumbers) {
  absl::StatusOr<std::unique_ptr<Device>> small = CreateCudaDevice({.memory_limit = 1 << 20});
  ASSERT_TRUE(small.ok()) << small.status();
  const auto engine = CreateCudaEngine({}, *model_.file, model_.graph, **small);
  EXPECT_THAT(std::string(engine.status().message()), HasSubstr("1048576"));
}

TEST_F(CudaEngineTest, NamesTheTensorWhoseValuesAreNotFinite) {
  for (const std::string name : {"blk.0.ffn_gate_inp.weight", "blk.1.attn_v.weight",
                                 "blk.0.attn_norm.weight", "output.weight"}) {
    const RandomModel random = {.edit = [&](std::vector<RandomModel::Tensor>& tensors) {
      for (RandomModel::Tensor& tensor : tensors) {
        if (tensor.name != name) continue;
        int64_t size = 1;
        for (const int64_t dim : tensor.dims) size *= dim;
        std::vector<float> values(static_cast<size_t>(size), 0.01f);
        values[values.size() / 2] = std::numeric_limits<float>::quiet_NaN();
        tensor.bytes = RandomModel::Bytes(values);
      }
    }};
    const OpenModel model(random.Write("cuda_nan"));
    const auto engine = Make(model);
    ASSERT_NE(engine, nullptr);
    Sequence sequence(*engine);
    for (const bool is_prompt : {false, true}) {
      if (is_prompt) engine->BeginPrompt();
      const absl::Status status =
          sequence.Feed({3, 17, 42}, {.logits = Sequence::Want::kAll}).status();
      EXPECT_EQ(ErrorKind(status), "nan_logits") << name << ": " << status;
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr(name[0] == 'b' ? name.substr(0, 6) : name));
      EXPECT_EQ(sequence.position(), 0);
    }
  }
}

std::vector<BlockType> WeightTypes() {
  return {BlockType::kQ4_K,    BlockType::kQ5_K,   BlockType::kQ6_K,  BlockType::kQ8_0,
          BlockType::kIQ4_NL,  BlockType::kIQ4_XS, BlockType::kMXFP4, BlockType::kIQ3_S,
          BlockType::kIQ3_XXS, BlockType::kIQ2_XS, BlockType::kIQ2_S, BlockType::kIQ2_XXS,
          BlockType::kQ3_K,    BlockType::kQ2_K,   BlockType::kQ4_0,  BlockType::kQ5_0,
          BlockType::kQ2_0,    BlockType::kF16,    BlockType::kBF16,  BlockType::kF32,
          BlockType::kQ4_1,    BlockType::kQ5_1,   BlockType::kNVFP4};
}

class CudaTypeTest : public CudaEngineTest, public ::testing::WithParamInterface<BlockType> {};

// With one layer the choices and the logits of the first token do not go through attention over
// several keys, whose sums are the only ones that differ: they have the CPU's bits.
TEST_P(CudaTypeTest, TheFirstTokenHasTheBitsOfTheCpu) {
  const OpenModel model(
      RandomModel{.type = GetParam()}.Write(absl::StrCat("cuda_", InfoOf(GetParam()).name)));
  CpuEngine cpu(*model.file, model.graph, {.num_threads = 2});
  const auto cuda = Make(model);
  ASSERT_NE(cuda, nullptr);
  for (const TokenId token : {3, 17, 42, 60}) {
    const Answers expected = Read(cpu, {token}, 1);
    const Answers got = Read(*cuda, {token}, 1);
    EXPECT_EQ(got.chosen, expected.chosen);
    EXPECT_LE(LargestDifference(got.logits[0], expected.logits[0]), 1e-4f);
  }
  const std::vector<TokenId> ids = RandomIds(64, 40, 3);
  const Answers one = Read(*cuda, ids, 1);
  EXPECT_TRUE(Read(*cuda, ids, 16).logits == one.logits);
  const std::vector<float> prompt = LastOfPrompt(*cuda, ids, 40);
  EXPECT_EQ(ReadAsPrompt(*cuda, ids, 9).logits.back(), prompt);
  EXPECT_LE(LargestDifference(prompt, one.logits.back()), 0.05f);
}

INSTANTIATE_TEST_SUITE_P(Types, CudaTypeTest, ::testing::ValuesIn(WeightTypes()),
                         [](const auto& info) { return std::string(InfoOf(info.param).name); });

}  // namespace
}  // namespace strata
