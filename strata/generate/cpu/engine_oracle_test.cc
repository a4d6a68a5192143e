// Whole models against independent implementations: testdata/oracles, where arch has another
// program's answers and families those of testdata/family_oracles.py, and STRATA_TEST_DATA.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "strata/generate/cpu/cpu_engine.h"
#include "strata/generate/cpu/step_observer.h"
#include "strata/generate/engine/engine.h"
#include "strata/generate/engine/generator.h"
#include "strata/generate/engine/sequence.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/kernels/isa.h"
#include "strata/generate/model/model_family.h"
#include "strata/generate/testing/open_model.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {
namespace {

using Json = nlohmann::json;

constexpr float kTolerance = 2e-4f;

class Recorder : public StepObserver {
 public:
  void OnLayerOutput(int layer, int64_t position, absl::Span<const float> x) override {
    outputs[{layer, position}] = std::vector<float>(x.begin(), x.end());
  }
  void OnBlocksSelected(int layer, int64_t position, absl::Span<const int32_t> blocks) override {
    selected[{layer, position}] = std::vector<int>(blocks.begin(), blocks.end());
  }

  std::map<std::pair<int, int64_t>, std::vector<float>> outputs;
  std::map<std::pair<int, int64_t>, std::vector<int>> selected;
};

TokenId ArgMax(absl::Span<const float> logits) {
  return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

// Empty when STRATA_TEST_DATA would have to have it, and has not.
std::string StemOf(const std::string& name) {
  const char* const data = std::getenv("STRATA_TEST_DATA");
  for (const std::string& folder :
       {std::string("testdata/oracles/arch"), std::string("testdata/oracles/families"),
        absl::StrCat(data == nullptr ? "" : data, "/oracles/arch2")}) {
    const std::string stem = absl::StrCat(folder, "/", name);
    if (std::ifstream(stem + ".json").good()) return stem;
  }
  return "";
}

class EngineOracleTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::string stem = StemOf(GetParam());
    if (stem.empty()) GTEST_SKIP() << "STRATA_TEST_DATA names no folder with " << GetParam();
    answers_ = Json::parse(std::ifstream(stem + ".json"));
    model_ = std::make_unique<OpenModel>(stem + ".gguf");
    engine_ =
        std::make_unique<CpuEngine>(*model_->file, model_->graph, EngineOptions{.num_threads = 2});
    engine_->set_observer(&recorder_);
  }

  // Feeds a prompt whole and keeps a row of logits per token.
  void FeedAll(const std::vector<TokenId>& prompt) {
    Sequence sequence(*engine_);
    const absl::StatusOr<const StepResult*> result =
        sequence.Feed(prompt, {.logits = Sequence::Want::kAll});
    ASSERT_TRUE(result.ok()) << result.status();
    logits_.clear();
    for (const absl::Span<const float> row : (*result)->logits) {
      logits_.emplace_back(row.begin(), row.end());
    }
    routing_ = (*result)->routing;
  }

  void ExpectNear(absl::Span<const float> got, const Json& expected, const std::string& what) {
    const auto values = expected.get<std::vector<float>>();
    ASSERT_EQ(got.size(), values.size()) << what;
    float largest = 0.0f;
    for (size_t i = 0; i < values.size(); ++i) {
      largest = std::max(largest, std::abs(got[i] - values[i]));
    }
    EXPECT_LE(largest, kTolerance) << what;
    largest_difference_ = std::max(largest_difference_, largest);
  }

  void ExpectLogitsAndArgMax(const Json& answers) {
    for (const auto& [position, logits] : answers["logits"].items()) {
      ExpectNear(logits_[std::stoi(position)], logits, "logits at " + position);
    }
    std::vector<TokenId> arg_max;
    for (const std::vector<float>& row : logits_) arg_max.push_back(ArgMax(row));
    EXPECT_EQ(arg_max, answers["argmax"].get<std::vector<TokenId>>());
  }

  Json answers_;
  std::unique_ptr<OpenModel> model_;
  std::unique_ptr<CpuEngine> engine_;
  Recorder recorder_;
  StepRouting routing_;  // Of FeedAll.
  std::vector<std::vector<float>> logits_;
  float largest_difference_ = 0.0f;
};

TEST_P(EngineOracleTest, ComputesTheStoredLogitsExpertsAndLayerOutputs) {
  const auto prompt = answers_["prompt"].get<std::vector<TokenId>>();
  FeedAll(prompt);
  EXPECT_EQ(model_->graph.layers.size(), answers_["sizes"]["layers"].get<size_t>());
  const absl::Span<const int> layers = model_->graph.experts.layers();
  ASSERT_EQ(routing_.num_layers(), static_cast<int>(layers.size()));
  EXPECT_EQ(answers_["experts"].size(), layers.size());
  for (int i = 0; i < routing_.num_layers(); ++i) {
    const Json& by_position = answers_["experts"][std::to_string(layers[i])];
    for (int position = 0; position < static_cast<int>(prompt.size()); ++position) {
      const absl::Span<const uint16_t> chosen = routing_.Chosen(i, position);
      EXPECT_EQ(std::set<int>(chosen.begin(), chosen.end()),
                by_position[position].get<std::set<int>>())
          << "layer " << layers[i] << " position " << position;
    }
  }
  for (const auto& [layer, output] : answers_["layer_out_last"].items()) {
    const std::pair<int, int64_t> at = {std::stoi(layer), prompt.size() - 1};
    ExpectNear(recorder_.outputs[at], output, "layer " + layer);
  }
  ExpectLogitsAndArgMax(answers_);
  std::cout << GetParam() << ": largest difference " << largest_difference_ << std::endl;
}

TEST_P(EngineOracleTest, ContinuesGreedilyAsStored) {
  Generator generator(*engine_, {.max_new = 16, .prompt_batch = 5, .keep_logits = true});
  const auto prompt = answers_["prompt"].get<std::vector<TokenId>>();
  const absl::StatusOr<Generation> generation = generator.Run(prompt, {});
  ASSERT_TRUE(generation.ok()) << generation.status();
  EXPECT_EQ(generation->ids, answers_["greedy"].get<std::vector<TokenId>>());
  const int64_t vocabulary = engine_->vocabulary();
  ExpectNear(absl::MakeConstSpan(generation->logits)
                 .subspan((prompt.size() + 14) * vocabulary, vocabulary),
             answers_["greedy_logits_last"], "logits of the last token");
}

// The logits of a prompt, fed in steps of `batch` rows.
std::vector<float> AllLogits(const OpenModel& model, int threads, int64_t batch,
                             absl::Span<const TokenId> prompt) {
  CpuEngine engine(*model.file, model.graph, {.num_threads = threads});
  Sequence sequence(engine);
  std::vector<float> all;
  while (!prompt.empty()) {
    const absl::Span<const TokenId> step = prompt.subspan(0, batch);
    const absl::StatusOr<const StepResult*> result =
        sequence.Feed(step, {.logits = Sequence::Want::kAll});
    EXPECT_TRUE(result.ok()) << result.status();
    if (!result.ok()) return all;
    for (const absl::Span<const float> row : (*result)->logits) {
      all.insert(all.end(), row.begin(), row.end());
    }
    prompt.remove_prefix(step.size());
  }
  return all;
}

TEST_P(EngineOracleTest, BitsDependOnNeitherInstructionSetNorThreadsNorTheCutIntoSteps) {
  const auto prompt = answers_["prompt"].get<std::vector<TokenId>>();
  SetIsa(Isa::kScalar);
  const std::vector<float> expected = AllLogits(*model_, 1, 1000, prompt);
  for (const Isa isa : AllIsas()) {
    if (!IsSupported(isa)) continue;
    SetIsa(isa);
    EXPECT_EQ(AllLogits(*model_, 3, 7, prompt), expected) << NameOf(isa);
  }
  SetIsa(BestIsa());
  EXPECT_EQ(AllLogits(*model_, 2, 1, prompt), expected);
}

TEST_P(EngineOracleTest, GoingBackAndOnGivesTheSameBits) {
  const auto prompt = answers_["prompt"].get<std::vector<TokenId>>();
  const std::vector<float> expected = AllLogits(*model_, 2, 1000, prompt);
  Sequence sequence(*engine_);
  ASSERT_TRUE(sequence.Feed(prompt, {}).ok());
  const size_t position = static_cast<size_t>(sequence.Rewind(11));
  ASSERT_LE(position, 11u);
  const absl::StatusOr<const StepResult*> result = sequence.Feed(
      absl::MakeConstSpan(prompt).subspan(position), {.logits = Sequence::Want::kAll});
  ASSERT_TRUE(result.ok()) << result.status();
  std::vector<float> again(expected.begin(),
                           expected.begin() + position * model_->graph.vocabulary);
  for (const absl::Span<const float> row : (*result)->logits) {
    again.insert(again.end(), row.begin(), row.end());
  }
  EXPECT_EQ(again, expected);
}

TEST_P(EngineOracleTest, UsesEveryTensorOfTheFile) {
  EXPECT_THAT(model_->graph.remarks, ::testing::IsEmpty());
}

// Longer than a tile of keys and than the window.
class LongPromptOracleTest : public EngineOracleTest {};

TEST_P(LongPromptOracleTest, ComputesTheStoredLogits) {
  FeedAll(answers_["long"]["prompt"].get<std::vector<TokenId>>());
  ExpectLogitsAndArgMax(answers_["long"]);
  std::cout << GetParam() << ", long prompt: largest difference " << largest_difference_
            << std::endl;
}

TEST_P(LongPromptOracleTest, BitsDependOnNeitherInstructionSetNorTheCutIntoSteps) {
  const auto prompt = answers_["long"]["prompt"].get<std::vector<TokenId>>();
  const std::vector<float> expected = AllLogits(*model_, 2, 1000, prompt);
  EXPECT_EQ(AllLogits(*model_, 3, 37, prompt), expected);
  EXPECT_EQ(AllLogits(*model_, 1, 1, prompt), expected);
  SetIsa(Isa::kScalar);
  EXPECT_EQ(AllLogits(*model_, 1, 1000, prompt), expected);
  SetIsa(BestIsa());
}

TEST_P(LongPromptOracleTest, SelectsTheStoredBlocks) {
  if (!answers_["long"].contains("qsa")) return;
  const Json& answers = answers_["long"]["qsa"];
  const auto prompt = answers_["long"]["prompt"].get<std::vector<TokenId>>();
  FeedAll(prompt);
  const int layer = answers["layer"].get<int>();
  for (int64_t position = 0; position < std::ssize(prompt); ++position) {
    EXPECT_EQ(recorder_.selected.contains({layer, position}),
              position >= answers["first_position_that_drops"].get<int64_t>())
        << position;
  }
  for (const auto& [position, blocks] : answers["kept_blocks"].items()) {
    const std::pair<int, int64_t> at = {layer, std::stoi(position)};
    EXPECT_EQ(recorder_.selected[at], blocks.get<std::vector<int>>()) << position;
  }
}

std::string TestName(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

const std::vector<std::string>& Oracles() {
  static const auto* const names = new std::vector<std::string>{
      "qwen3moe", "llama", "olmoe", "granitemoe", "gpt-oss", "glm4moe", "deepseek2", "qwen3next",
      "qwen35moe", "lfm2moe", "gemma4",
      // Of STRATA_TEST_DATA.
      "qwen4exp",
      // Of testdata/family_oracles.py.
      "bailingmoe", "bailingmoe2", "deepseek", "deepseek2-expanded", "dots1", "ernie4_5",
      "ernie4_5-moe", "exaone-moe", "hunyuan-moe", "hy_v3", "mellum", "minimax-m2", "qwen2",
      "qwen2moe", "qwen3", "qwen3vl", "qwen3vlmoe"};
  return *names;
}

// A name in the list of families is a promise, so each is kept somewhere here.
TEST(FamilyListTest, NamesNoFamilyWithoutAnswers) {
  std::set<std::string> answered;
  for (const std::string& name : Oracles()) {
    const std::string stem = StemOf(name);
    answered.insert(stem.empty()
                        ? name
                        : Json::parse(std::ifstream(stem + ".json"))["arch"].get<std::string>());
  }
  const std::set<std::string> listed = absl::StrSplit(ModelFamilyNames(), ", ");
  EXPECT_EQ(listed, answered);
}

INSTANTIATE_TEST_SUITE_P(Families, EngineOracleTest, ::testing::ValuesIn(Oracles()), TestName);
INSTANTIATE_TEST_SUITE_P(Families, LongPromptOracleTest,
                         ::testing::Values("gpt-oss", "qwen3next", "qwen35moe", "gemma4",
                                           "qwen4exp"),
                         TestName);

}  // namespace
}  // namespace strata
