// Whatever places the experts, the logits have the same bits, and the counters say what was done.
#include "strata/generate/placement/placed_experts.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/experts/model_identity.h"
#include "strata/cache/host/host_placement.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/profile/expert_profile.h"
#include "strata/cache/profile/expert_profile_file.h"
#include "strata/cache/simulate/cache_gauge.h"
#include "strata/cache/tier/expert_table.h"
#include "strata/cache/tier/tier_counters.h"
#include "strata/core/block_type.h"
#include "strata/core/cli/runfiles.h"
#include "strata/core/error.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/model_config.h"
#include "strata/core/gguf/model_test_file.h"
#include "strata/core/host_device.h"
#include "strata/core/log_capture.h"
#include "strata/generate/cpu/cpu_engine.h"
#include "strata/generate/engine/engine.h"
#include "strata/generate/engine/generator.h"
#include "strata/generate/engine/sequence.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/placement/expert_placement.h"
#include "strata/generate/placement/routing_recorder.h"
#include "strata/generate/testing/open_model.h"
#include "strata/generate/testing/random_model.h"
#include "strata/generate/testing/random_streams.h"
#include "strata/generate/testing/run_generate.h"

namespace strata {
namespace {

using Choice = HostPlacement::Choice;
using Prefill = ExpertPlacement::Prefill;
using ::testing::HasSubstr;

const std::vector<TokenId> kPrompt = {3, 17, 42, 0, 63, 17, 17, 8, 25, 31, 5, 60, 2};
const std::vector<TokenId> kSecondPrompt = {9, 1, 44, 12, 30};

struct Outcome {
  std::vector<float> logits;
  TierCounters counters;
  int num_slots = 0;
};

void Answer(Engine& engine, const std::vector<TokenId>& prompt, std::vector<float>& logits) {
  Generator generator(engine, {.max_new = 12, .prompt_batch = 8, .keep_logits = true});
  const absl::StatusOr<Generation> generation = generator.Run(prompt, {});
  ASSERT_TRUE(generation.ok()) << generation.status();
  logits.insert(logits.end(), generation->logits.begin(), generation->logits.end());
}

// Two answers: the second prompt comes while slots that the first one borrowed are refilled.
Outcome RunWith(const OpenModel& model, const ExpertPlacement::Options& options) {
  HostDevice device;
  absl::StatusOr<std::unique_ptr<ExpertPlacement>> experts =
      ExpertPlacement::Create(options, *model.file, model.graph, device);
  EXPECT_TRUE(experts.ok()) << experts.status();
  if (!experts.ok()) return {};
  PlacedExperts placed(**experts);
  CpuEngine engine(*model.file, model.graph, {.num_threads = 2}, &placed);
  Outcome outcome;
  Answer(engine, kPrompt, outcome.logits);
  Answer(engine, kSecondPrompt, outcome.logits);
  EXPECT_TRUE((*experts)->FinishTrace().ok());
  outcome.counters = (*experts)->counters();
  outcome.num_slots = (*experts)->slots().num_slots();
  EXPECT_EQ(outcome.counters.routed, engine.counters().routed);
  EXPECT_EQ(outcome.counters.hits + outcome.counters.num_misses(), outcome.counters.routed);
  EXPECT_EQ(outcome.counters.waits_for_swaps, 0);
  return outcome;
}

ModelIdentity IdentityOf(const GgufFile& file) {
  const ModelConfig config = ModelConfig::Create(file).value();
  return ModelIdentity::Of(file, ExpertLayout::Create(file, config).value()).value();
}

// Of the first prompt.
std::string WriteProfile(const OpenModel& model) {
  ExpertProfile profile(IdentityOf(*model.file));
  RoutingRecorder recorder(profile.geometry(), {.profile = &profile});
  CpuEngine engine(*model.file, model.graph, {});
  Sequence sequence(engine);
  const absl::StatusOr<const StepResult*> result = sequence.Feed(kPrompt, {});
  EXPECT_TRUE(result.ok()) << result.status();
  recorder.AddStep(/*first_position=*/0, (*result)->routing, RoutedStep::Kind::kPrompt);
  const std::string path = TestFile("profile");
  EXPECT_TRUE(SaveProfile(profile, path).ok());
  return path;
}

std::string Name(const ExpertPlacement::Options& options) {
  return absl::StrCat(options.cache->amount, " %, source ", static_cast<int>(options.host.choice),
                      options.profile.empty() ? "" : ", profile", ", ", options.swaps.max_swaps,
                      " swaps, ", options.lend, " lent");
}

// The form whose bytes an option's misses are counted under.
EntryForm FormOf(Choice choice) {
  switch (choice) {
    case Choice::kRegistered:
      return EntryForm::kRegistered;
    case Choice::kArena:
      return EntryForm::kArena;
    case Choice::kStage:
      return EntryForm::kStage;
    default:
      return EntryForm::kPageable;
  }
}

// All ways of one size of cache and one source.
void ExpectSameBits(const OpenModel& model, const std::string& profile, double percent,
                    Choice choice, const std::vector<float>& expected) {
  for (const bool has_profile : {false, true}) {
    for (const int max_swaps : {0, 32}) {
      for (const int lend : {0, 3}) {
        ExpertPlacement::Options options = {.cache = SlotBudget::Percent(percent),
                                            .prefill = Prefill::kOn,
                                            .verify = SlotVerify::kAll,
                                            .lend = lend};
        if (has_profile) options.profile = profile;
        options.host.choice = choice;
        options.swaps.max_swaps = max_swaps;
        const std::string name = Name(options);
        const Outcome outcome = RunWith(model, options);
        EXPECT_TRUE(outcome.logits == expected) << name;
        const TierCounters& counters = outcome.counters;
        EXPECT_TRUE(counters.hits > 0 || !has_profile || lend > 0) << name;
        EXPECT_TRUE(percent == 100 || counters.bytes_from(FormOf(choice)) > 0) << name;
        EXPECT_TRUE(max_swaps > 0 || counters.swaps_decided == 0) << name;
        EXPECT_TRUE(lend > 0 || percent < 100 || counters.num_misses() == 0) << name;
        EXPECT_EQ(counters.lent, 2 * std::min(lend, outcome.num_slots)) << name;
      }
    }
  }
}

void ExpectSameBitsWhateverThePlacement(const OpenModel& model,
                                        const std::vector<double>& percents) {
  const std::string profile = WriteProfile(model);
  CpuEngine mapped(*model.file, model.graph, {.num_threads = 2});
  std::vector<float> expected;
  Answer(mapped, kPrompt, expected);
  Answer(mapped, kSecondPrompt, expected);
  for (const Choice choice :
       {Choice::kRegistered, Choice::kArena, Choice::kStage, Choice::kPageable}) {
    for (const double percent : percents) {
      ExpectSameBits(model, profile, percent, choice, expected);
    }
  }
}

TEST(PlacedExpertsTest, NoBitDependsOnPlacement) {
  ExpectSameBitsWhateverThePlacement(OpenModel(Runfile("testdata/strata-tiny-q4_k_m.gguf").value()),
                                     {5, 10, 25, 50, 100});
}

TEST(PlacedExpertsTest, NorInAModelWhoseBlobsAreOfManySizes) {
  const std::optional<std::string> path = SharedFile("models/strata-small-q4_k_m.gguf");
  if (!path.has_value()) GTEST_SKIP() << "STRATA_TEST_DATA names no folder with strata-small";
  ExpectSameBitsWhateverThePlacement(OpenModel(*path), {25});
}

// Fused gate and up, biases, scales, dense layers and parts, a shared expert.
TEST(PlacedExpertsTest, NorInAnyFormThatExpertsHaveInFiles) {
  for (const char* name : {"gemma4", "glm4moe", "gpt-oss", "granitemoe", "llama", "olmoe"}) {
    SCOPED_TRACE(name);
    const OpenModel model(Runfile(absl::StrCat("testdata/oracles/arch/", name, ".gguf")).value());
    const std::string profile = WriteProfile(model);
    CpuEngine mapped(*model.file, model.graph, {.num_threads = 2});
    std::vector<float> expected;
    Answer(mapped, kPrompt, expected);
    Answer(mapped, kSecondPrompt, expected);
    for (const Choice choice : {Choice::kArena, Choice::kStage}) {
      ExpectSameBits(model, profile, 50, choice, expected);
    }
  }
}

TEST(PlacedExpertsTest, NorInAModelOfStreamsBlocksAndATable) {
  ExpectSameBitsWhateverThePlacement(
      OpenModel(RandomStreams({.type = BlockType::kQ4_K}).Write("streams")), {25, 100});
}

class SmallModelTest : public ::testing::Test {
 protected:
  HostDevice device_;
  // 4 experts in each of 2 layers, 2 used.
  const OpenModel model_ = OpenModel(RandomModel{.type = BlockType::kQ4_K}.Write("small"));
  std::vector<float> Expected() const {
    CpuEngine engine(*model_.file, model_.graph, {.num_threads = 2});
    std::vector<float> logits;
    Answer(engine, kPrompt, logits);
    Answer(engine, kSecondPrompt, logits);
    return logits;
  }
};

TEST_F(SmallModelTest, OneSlotAndFewerSlotsThanALayerUses) {
  for (const int slots : {1, 2, 3, 100}) {
    for (const Choice choice : {Choice::kArena, Choice::kStage, Choice::kPageable}) {
      ExpertPlacement::Options options = {
          .cache = SlotBudget::Slots(slots), .prefill = Prefill::kOn, .lend = 1};
      options.host.choice = choice;
      options.swaps.adapt_every = 1;
      const Outcome outcome = RunWith(model_, options);
      EXPECT_EQ(outcome.num_slots, std::min(slots, 8));
      EXPECT_TRUE(outcome.logits == Expected()) << slots;
    }
  }
}

TEST_F(SmallModelTest, RefusedPinningIsServedFromPageableStages) {
  for (const Choice choice : {Choice::kRegistered, Choice::kArena, Choice::kStage}) {
    LogCapture log;
    ExpertPlacement::Options options = {.cache = SlotBudget::Slots(3), .prefill = Prefill::kOn};
    options.host.choice = choice;
    options.host.pin_budget = 0;
    const Outcome outcome = RunWith(model_, options);
    EXPECT_TRUE(outcome.logits == Expected());
    EXPECT_GT(outcome.counters.misses[static_cast<int>(MissPath::kStage)], 0);
    EXPECT_GE(log.warnings().size(), 1u);
  }
}

TEST_F(SmallModelTest, WithoutSlotsEveryEntryIsAMiss) {
  const Outcome outcome = RunWith(model_, {});
  EXPECT_EQ(outcome.num_slots, 0);
  EXPECT_EQ(outcome.counters.hits, 0);
  EXPECT_EQ(outcome.counters.misses[static_cast<int>(MissPath::kCpu)], outcome.counters.routed);
}

TEST_F(SmallModelTest, EmptySlotsFillThemselvesWithWhatIsUsed) {
  ExpertPlacement::Options options = {.cache = SlotBudget::Percent(100), .prefill = Prefill::kOff};
  options.swaps.adapt_every = 1;
  const auto experts =
      ExpertPlacement::Create(options, *model_.file, model_.graph, device_).value();
  PlacedExperts placed(*experts);
  CpuEngine engine(*model_.file, model_.graph, {.num_threads = 2}, &placed);
  // Swaps take their time beside the steps; how many steps that is differs.
  for (int i = 0; i < 1000 && experts->counters().hits == 0; ++i) {
    std::vector<float> logits;
    Answer(engine, kPrompt, logits);
    Answer(engine, kSecondPrompt, logits);
    ASSERT_TRUE(logits == Expected());
  }
  EXPECT_EQ(experts->counters().fills, 0);
  EXPECT_GT(experts->counters().swaps_visible, 0);
  EXPECT_GT(experts->counters().hits, 0);
}

TEST_F(SmallModelTest, AProfileOfAnotherModelIsRefusedByContent) {
  RandomModel other = {.type = BlockType::kQ4_K};
  other.edit = [](std::vector<RandomModel::Tensor>& tensors) {
    for (RandomModel::Tensor& tensor : tensors) {
      if (tensor.name == "blk.1.ffn_gate_inp.weight") {
        tensor.bytes = RandomModel::Bytes(std::vector<float>(256 * 4, 0.5f));
      }
    }
  };
  const OpenModel other_model(other.Write("other"));
  const std::string profile = WriteProfile(other_model);
  const auto experts =
      ExpertPlacement::Create({.profile = profile}, *model_.file, model_.graph, device_);
  EXPECT_EQ(ErrorKind(experts.status()), "profile_mismatch") << experts.status();
  EXPECT_EQ(ErrorFile(experts.status()), profile);
}

TEST_F(SmallModelTest, AsManySwapsARoundAsOneLikesTakeNoMoreMemoryThanTheSlotsNeed) {
  ExpertPlacement::Options options = {.cache = SlotBudget::Slots(3)};
  options.swaps.adapt_every = 1;
  options.host.choice = Choice::kArena;
  options.swaps.max_swaps = 3;
  const auto usual = ExpertPlacement::Create(options, *model_.file, model_.graph, device_);
  ASSERT_TRUE(usual.ok()) << usual.status();
  options.swaps.max_swaps = std::numeric_limits<int>::max();
  const auto most = ExpertPlacement::Create(options, *model_.file, model_.graph, device_);
  ASSERT_TRUE(most.ok()) << most.status();
  EXPECT_EQ((*most)->pinned_bytes(), (*usual)->pinned_bytes());
  const Outcome outcome = RunWith(model_, options);
  EXPECT_TRUE(outcome.logits == Expected());
  EXPECT_GT(outcome.counters.bytes_from(EntryForm::kArena), 0);
}

TEST(PlacedExpertsTest, ADenseModelHasNoUseForAProfileOrATrace) {
  HostDevice device;
  DenseModel().WriteTo(TestFile("dense.gguf"));
  const auto file = GgufFile::Open(TestFile("dense.gguf"));
  ASSERT_TRUE(file.ok()) << file.status();
  const auto plain =
      ExpertPlacement::Create({.cache = SlotBudget::Percent(50)}, **file, ModelGraph(), device);
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(*plain, nullptr);
  for (const ExpertPlacement::Options& options :
       {ExpertPlacement::Options{.profile = "p"}, ExpertPlacement::Options{.dump_routing = "t"}}) {
    EXPECT_EQ(ErrorKind(ExpertPlacement::Create(options, **file, ModelGraph(), device).status()),
              "no_experts");
  }
}

TEST(PlacedExpertsTest, TheGaugeReadsWhatTheCountersCount) {
  const OpenModel model(RandomModel().Write("gauge"));
  for (const int max_swaps : {0, 32}) {
    ExpertPlacement::Options options = {.cache = SlotBudget::Percent(40), .prefill = Prefill::kOn};
    options.swaps.max_swaps = max_swaps;
    HostDevice device;
    const auto experts = ExpertPlacement::Create(options, *model.file, model.graph, device);
    ASSERT_TRUE(experts.ok()) << experts.status();
    EXPECT_EQ((*experts)->ReadGauge()->steps, 0u);
    PlacedExperts placed(**experts);
    CpuEngine engine(*model.file, model.graph, {.num_threads = 1}, &placed);
    Sequence sequence(engine);
    for (const TokenId token : kPrompt) ASSERT_TRUE(sequence.Feed({token}, {}).ok());
    const CacheGauge::Reading reading = *(*experts)->ReadGauge();
    const TierCounters counters = (*experts)->counters();
    EXPECT_EQ(reading.steps, kPrompt.size());
    EXPECT_GT(counters.num_misses(), 0);
    EXPECT_DOUBLE_EQ(reading.hit_rate,
                     static_cast<double>(counters.hits) / static_cast<double>(counters.routed));
    EXPECT_GT(reading.optimum, reading.hit_rate);
    EXPECT_GE(reading.optimum, reading.best_static);
    EXPECT_EQ(reading.lru_with_more, 1);
  }
}

TEST(PlacedExpertsTest, ThereIsNoGaugeWhereNothingIsToBeDecided) {
  const OpenModel model(RandomModel().Write("no_gauge"));
  for (const double percent : {0.0, 100.0}) {
    HostDevice device;
    const auto experts = ExpertPlacement::Create({.cache = SlotBudget::Percent(percent)},
                                                 *model.file, model.graph, device);
    ASSERT_TRUE(experts.ok()) << experts.status();
    EXPECT_FALSE((*experts)->ReadGauge().has_value());
  }
}

}  // namespace
}  // namespace strata
