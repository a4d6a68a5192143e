#include "strata/cache/simulate/recorded_run.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "strata/cache/experts/routed_step.h"
#include "strata/cache/simulate/replay_counts.h"
#include "strata/cache/testing/test_profile.h"
#include "strata/cache/trace/routing_trace.h"
#include "strata/cache/trace/trace_records.h"
#include "strata/core/error.h"

namespace strata {
namespace {

using Cause = TraceResidency::Cause;

// One layer of four experts, one used; a slot that holds expert 0.
class RecordedRunTest : public ::testing::Test {
 protected:
  RecordedRunTest() {
    header_.identity = TestIdentity(/*num_layers=*/1, /*num_experts=*/4, /*num_used=*/1);
    const auto bytes = header_.identity.geometry.layers()[0].blob_bytes;
    header_.tier = {.slots = {{.blob_bytes = bytes, .expert = 0}},
                    .adapt_every = 2,
                    .max_swaps = 4,
                    .max_bytes = 1 << 30,
                    .decay = 0.5};
  }

  std::unique_ptr<RoutingTraceWriter> Writer() {
    auto writer = RoutingTraceWriter::Create(path_, header_);
    EXPECT_TRUE(writer.ok()) << writer.status();
    return *std::move(writer);
  }
  static RoutedStep Step(int number, uint16_t expert) {
    return {.number = number, .num_tokens = 1, .num_accepted = 1, .experts = {expert}};
  }

  const std::string path_ = ::testing::TempDir() + "/recorded.trace";
  TraceHeader header_;
};

TEST_F(RecordedRunTest, CountsByWhatTheTierShowedAndWhen) {
  const auto writer = Writer();
  writer->AddStep(Step(0, 0));
  writer->AddStep(Step(1, 1));
  // Written before the steps they name.
  writer->AddResidency(
      {.step = 3, .expert = 0, .slot = 0, .resident = false, .cause = Cause::kSwap});
  writer->AddResidency(
      {.step = 4, .expert = 1, .slot = 0, .resident = true, .cause = Cause::kSwap});
  writer->AddStep(Step(2, 0));
  writer->AddStep(Step(3, 1));
  writer->AddStep(Step(4, 1));
  ASSERT_TRUE(writer->Finish().ok());
  const absl::StatusOr<RecordedRun> run = RecordedRun::Load(path_);
  ASSERT_TRUE(run.ok()) << run.status();
  const auto& layer = header_.identity.geometry.layers()[0];
  EXPECT_EQ(run->counts, (ReplayCounts{.steps = 5,
                                       .tokens = 5,
                                       .routed = 5,
                                       .hits = 3,
                                       .uses = 5,
                                       .missed_uses = 2,
                                       .slot_bytes = 3 * layer.expert_bytes,
                                       .link_bytes = 2 * layer.expert_bytes,
                                       .admissions = 1,
                                       .copies = 1,
                                       .copy_bytes = layer.blob_bytes}));
}

TEST_F(RecordedRunTest, RefusesAnExpertThatComesTwice) {
  const auto writer = Writer();
  writer->AddResidency(
      {.step = 0, .expert = 0, .slot = 0, .resident = true, .cause = Cause::kFill});
  writer->AddStep(Step(0, 0));
  ASSERT_TRUE(writer->Finish().ok());
  const absl::StatusOr<RecordedRun> run = RecordedRun::Load(path_);
  EXPECT_EQ(ErrorKind(run.status()), "bad_record");
  EXPECT_EQ(ErrorFile(run.status()), path_);
}

TEST_F(RecordedRunTest, PredictsTheSwapsOfARunFromItsRoutingAndRates) {
  const auto writer = Writer();
  writer->AddRates({.step = 1, .copy_bytes_per_ns = 1, .miss_ns_per_byte = 1});
  for (int step = 0; step < 8; ++step) writer->AddStep(Step(step, 2));
  ASSERT_TRUE(writer->Finish().ok());
  const absl::StatusOr<RecordedRun> run = RecordedRun::Load(path_);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->counts.hits, 0) << "this record shows no swap";
  const absl::StatusOr<ReplayCounts> predicted = PredictRun(path_, *run);
  ASSERT_TRUE(predicted.ok()) << predicted.status();
  // Decided after the second step, on its way during the third.
  EXPECT_EQ(predicted->hits, 5);
  EXPECT_EQ(predicted->admissions, 1);
}

}  // namespace
}  // namespace strata
