#include "strata/generate/placement/routing_recorder.h"

#include <cstdint>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "gtest/gtest.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/experts/model_identity.h"
#include "strata/cache/experts/routed_step.h"
#include "strata/cache/profile/expert_profile.h"
#include "strata/cache/trace/routing_trace.h"
#include "strata/cache/trace/trace_records.h"
#include "strata/generate/engine/step.h"

namespace strata {
namespace {

constexpr int kLayers = 3, kExperts = 8, kUsed = 2;

ModelIdentity Identity() {
  std::vector<ExpertGeometry::Layer> layers;
  for (int layer = 0; layer < kLayers; ++layer) {
    layers.push_back({.block = layer + 1, .blob_bytes = 512, .expert_bytes = 500});
  }
  ModelIdentity identity;
  identity.geometry = ExpertGeometry(layers, kExperts, kUsed);
  return identity;
}

// Different in every layer, row and rank.
StepRouting Routing(int num_rows, int seed) {
  StepRouting routing = {.num_rows = num_rows, .num_chosen = kUsed};
  for (int i = 0; i < kLayers * num_rows * kUsed; ++i) {
    routing.experts.push_back(static_cast<uint16_t>((seed + 3 * i) % kExperts));
  }
  return routing;
}

class RoutingRecorderTest : public ::testing::Test {
 protected:
  ExpertProfile profile_{Identity()};
};

TEST_F(RoutingRecorderTest, TraceAndProfileHoldWhatTheStepsChose) {
  const std::string path = ::testing::TempDir() + "/recorded.trace";
  const auto trace = RoutingTraceWriter::Create(path, {.identity = Identity()});
  ASSERT_TRUE(trace.ok()) << trace.status();
  RoutingRecorder recorder(profile_.geometry(), {.trace = trace->get(), .profile = &profile_});
  recorder.AddStep(0, Routing(3, 1), RoutedStep::Kind::kPrompt);
  recorder.AddStep(3, Routing(1, 5), RoutedStep::Kind::kDecode);
  EXPECT_EQ(recorder.num_steps(), 2);
  ASSERT_TRUE((*trace)->Finish().ok());

  const auto reader = RoutingTraceReader::Open(path);
  ASSERT_TRUE(reader.ok()) << reader.status();
  std::vector<uint64_t> counts(profile_.geometry().size(), 0);
  for (const auto& [number, num_rows, seed, kind] :
       {std::tuple{0, 3, 1, RoutedStep::Kind::kPrompt}, {1, 1, 5, RoutedStep::Kind::kDecode}}) {
    const auto record = (*reader)->Next();
    ASSERT_TRUE(record.ok()) << record.status();
    const RoutedStep step = std::get<RoutedStep>(**record);
    EXPECT_EQ(step.number, number);
    EXPECT_EQ(step.first_position, 3 * number);
    EXPECT_EQ(step.kind, kind);
    EXPECT_EQ(step.num_tokens, num_rows);
    EXPECT_EQ(step.num_accepted, num_rows);
    EXPECT_EQ(step.experts, Routing(num_rows, seed).experts);
    for (int layer = 0; layer < kLayers; ++layer) {
      for (int row = 0; row < num_rows; ++row) {
        for (const int expert : step.Chosen(profile_.geometry(), layer, row)) {
          ++counts[layer * kExperts + expert];
        }
      }
    }
  }
  EXPECT_FALSE((*reader)->Next()->has_value());
  EXPECT_EQ(profile_.counts(), counts);
  EXPECT_EQ(profile_.num_tokens(), 4u);
}

TEST_F(RoutingRecorderTest, CountsAcceptedTokensAlone) {
  RoutingRecorder recorder(profile_.geometry(), {.profile = &profile_});
  recorder.AddStep(0, Routing(3, 0), RoutedStep::Kind::kDecode, /*num_accepted=*/1);
  EXPECT_EQ(profile_.num_tokens(), 1u);
  EXPECT_EQ(profile_.num_entries(), uint64_t{kLayers * kUsed});
}

}  // namespace
}  // namespace strata
