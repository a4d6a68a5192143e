#include "strata/generate/placement/routing_recorder.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/cache/experts/model_identity.h"
#include "strata/cache/profile/expert_profile.h"
#include "strata/cache/trace/routing_trace.h"
#include "strata/cache/trace/trace_records.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/model_config.h"
#include "strata/generate/engine/engine.h"
#include "strata/generate/testing/open_model.h"
#include "strata/generate/testing/random_model.h"

namespace strata {
namespace {

// What the observer was told, as it came.
class Spy : public StepObserver {
 public:
  void OnRouting(int layer, int64_t position, absl::Span<const ExpertChoice> chosen) override {
    for (const ExpertChoice& choice : chosen) seen[{layer, position}].push_back(choice.expert);
  }
  void OnLayerOutput(int, int64_t, absl::Span<const float>) override {}
  std::map<std::pair<int, int64_t>, std::vector<int>> seen;
};

ModelIdentity IdentityOf(const GgufFile& file) {
  const auto config = ModelConfig::Create(file);
  const auto layout = ExpertLayout::Create(file, *config);
  return *ModelIdentity::Of(file, *layout);
}

struct RoutingRecorderTest : testing::Test {
  RoutingRecorderTest()
      : model(RandomModel{.num_layers = 3, .num_experts = 8}.Write("recorded")),
        engine(*model.file, model.graph, {}),
        profile(IdentityOf(*model.file)) {}

  void Run(StepObserver& observer, const std::vector<TokenId>& tokens) {
    engine.set_observer(&observer);
    const auto rows = engine.Step(tokens, Engine::Want::kNothing);
    ASSERT_TRUE(rows.ok()) << rows.status();
  }

  OpenModel model;
  Engine engine;
  ExpertProfile profile;
};

TEST_F(RoutingRecorderTest, TraceAndProfileHoldWhatTheEngineChose) {
  Spy spy;
  Run(spy, {1, 2, 3});
  Run(spy, {4});
  ASSERT_EQ(engine.Rewind(0), 0);
  const std::string path = testing::TempDir() + "/recorded.trace";
  const auto trace = RoutingTraceWriter::Create(path, {.identity = profile.identity()});
  ASSERT_TRUE(trace.ok()) << trace.status();
  RoutingRecorder recorder(profile.geometry(), {.trace = trace->get(), .profile = &profile});
  Run(recorder, {1, 2, 3});
  recorder.EndStep(RoutedStep::Kind::kPrompt);
  Run(recorder, {4});
  recorder.EndStep(RoutedStep::Kind::kDecode);
  ASSERT_TRUE((*trace)->Finish().ok());

  const auto reader = RoutingTraceReader::Open(path);
  ASSERT_TRUE(reader.ok()) << reader.status();
  std::vector<uint64_t> counts(profile.geometry().size(), 0);
  for (const auto& [number, num_tokens, kind] :
       {std::tuple{0, 3, RoutedStep::Kind::kPrompt}, {1, 1, RoutedStep::Kind::kDecode}}) {
    const auto record = (*reader)->Next();
    ASSERT_TRUE(record.ok()) << record.status();
    const RoutedStep step = std::get<RoutedStep>(**record);
    EXPECT_EQ(step.number, number);
    EXPECT_EQ(step.first_position, 3 * number);
    EXPECT_EQ(step.kind, kind);
    ASSERT_EQ(step.num_tokens, num_tokens);
    EXPECT_EQ(step.num_accepted, num_tokens);
    for (int layer = 0; layer < 3; ++layer) {
      for (int token = 0; token < num_tokens; ++token) {
        const auto chosen = step.Chosen(profile.geometry(), layer, token);
        EXPECT_EQ(std::vector<int>(chosen.begin(), chosen.end()),
                  (spy.seen[{layer, step.first_position + token}]));
        for (const int expert : chosen) ++counts[layer * 8 + expert];
      }
    }
  }
  EXPECT_FALSE((*reader)->Next()->has_value());
  EXPECT_EQ(profile.counts(), counts);
  EXPECT_EQ(profile.num_tokens(), 4u);
}

TEST_F(RoutingRecorderTest, CountsAcceptedTokensAlone) {
  RoutingRecorder recorder(profile.geometry(), {.profile = &profile});
  Run(recorder, {1, 2, 3});
  recorder.EndStep(RoutedStep::Kind::kDecode, /*num_accepted=*/1);
  EXPECT_EQ(profile.num_tokens(), 1u);
  EXPECT_EQ(profile.num_entries(), 6u);
}

TEST_F(RoutingRecorderTest, ADroppedStepLeavesNothing) {
  RoutingRecorder recorder(profile.geometry(), {.profile = &profile});
  Run(recorder, {1, 2, 3});
  recorder.DropStep();
  Run(recorder, {4});
  recorder.EndStep(RoutedStep::Kind::kDecode);
  EXPECT_EQ(profile.num_tokens(), 1u);
  EXPECT_EQ(recorder.num_steps(), 1);
}

}  // namespace
}  // namespace strata
