#include "strata/cache/trace/trace_codec.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/cache/policy/landing_rule.h"
#include "strata/cache/testing/test_profile.h"
#include "strata/cache/testing/test_trace.h"
#include "strata/cache/trace/trace_records.h"
#include "strata/core/error.h"
#include "strata/core/little_endian.h"

namespace strata {
namespace {

const ExpertGeometry& Geometry() {
  static const ExpertGeometry geometry = TestIdentity(2, 4, 2).geometry;
  return geometry;
}

std::string KindOf(const LittleEndianWriter& writer, const ExpertGeometry& geometry = Geometry()) {
  LittleEndianReader reader(writer.bytes());
  return ErrorKind(ReadTraceRecord(geometry, reader).status());
}

template <typename Record>
void ExpectReadsBack(const Record& record, const LittleEndianWriter& writer) {
  LittleEndianReader reader(writer.bytes());
  const auto read = ReadTraceRecord(Geometry(), reader);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(reader.bytes_left(), 0u);
  ASSERT_TRUE(std::holds_alternative<Record>(*read));
  EXPECT_EQ(std::get<Record>(*read), record);
  for (size_t size = 0; size < writer.bytes().size(); ++size) {
    LittleEndianReader cut(absl::MakeConstSpan(writer.bytes()).first(size));
    const auto kind = ErrorKind(ReadTraceRecord(Geometry(), cut).status());
    EXPECT_EQ(kind, size == 0 ? "bad_record" : "truncated") << size;
  }
}

TEST(TraceCodecTest, ReadsEveryKindOfRecordBack) {
  LittleEndianWriter writer;
  RoutedStep step = TestStep(Geometry(), /*number=*/1000, /*num_tokens=*/3);
  step.num_accepted = 2;
  AppendTraceRecord(Geometry(), step, writer);
  ExpectReadsBack(step, writer);

  writer.Clear();
  const TraceRates rates = {
      .step = 7, .copy_bytes_per_ns = 50.5, .miss_fixed_ns = 1e4, .miss_ns_per_byte = 0.02};
  AppendTraceRecord(rates, writer);
  ExpectReadsBack(rates, writer);

  for (const int victim : {-1, 7}) {
    writer.Clear();
    const TraceSwap swap = {
        .step = 7, .newcomer = 5, .victim = victim, .predicted_saving_ns = -1.5};
    AppendTraceRecord(swap, writer);
    ExpectReadsBack(swap, writer);
  }
  for (int cause = 0; cause < TraceResidency::kNumCauses; ++cause) {
    writer.Clear();
    const TraceResidency residency = {.step = 9,
                                      .expert = 7,
                                      .slot = 1,
                                      .resident = cause % 2 == 0,
                                      .cause = static_cast<TraceResidency::Cause>(cause)};
    AppendTraceRecord(residency, writer);
    ExpectReadsBack(residency, writer);
  }
}

TEST(TraceCodecTest, AChoiceTakesOneByteUpTo256ExpertsAndTwoAbove) {
  for (const auto& [num_experts, bytes] : {std::pair{256, 4u}, std::pair{257, 8u}}) {
    const ExpertGeometry geometry = TestIdentity(2, num_experts, 2).geometry;
    RoutedStep step = TestStep(geometry, 0, 1);
    step.experts[3] = static_cast<uint16_t>(num_experts - 1);
    LittleEndianWriter writer;
    AppendTraceRecord(geometry, step, writer);
    EXPECT_EQ(writer.bytes().size(), 6 + bytes);
    LittleEndianReader reader(writer.bytes());
    const auto read = ReadTraceRecord(geometry, reader);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(std::get<RoutedStep>(*read), step);
  }
}

// A step's record, field by field.
LittleEndianWriter Step(uint64_t number, uint64_t position, uint64_t kind, uint64_t tokens,
                        uint64_t accepted, int choice = 0) {
  LittleEndianWriter writer;
  writer.Number(uint8_t{1})
      .Varint(number)
      .Varint(position)
      .Varint(kind)
      .Varint(tokens)
      .Varint(accepted);
  for (int i = 0; i < 4; ++i) writer.Number(static_cast<uint8_t>(choice));
  return writer;
}

TEST(TraceCodecTest, RefusesStepsThatCannotBe) {
  constexpr uint64_t kTooMuch = uint64_t{1} << 63;
  EXPECT_EQ(KindOf(Step(0, 0, 0, 1, 1)), "");
  EXPECT_EQ(KindOf(Step(kTooMuch, 0, 0, 1, 1)), "bad_record");
  EXPECT_EQ(KindOf(Step(0, kTooMuch, 0, 1, 1)), "bad_record");
  EXPECT_EQ(KindOf(Step(0, 0, 2, 1, 1)), "bad_record");
  EXPECT_EQ(KindOf(Step(0, 0, 0, 0, 0)), "bad_record");
  EXPECT_EQ(KindOf(Step(0, 0, 0, 1, 2)), "bad_record");
  EXPECT_EQ(KindOf(Step(0, 0, 0, 1, 1, /*choice=*/4)), "bad_record");
  EXPECT_EQ(KindOf(Step(0, 0, 0, 2, 1)), "truncated");
  EXPECT_EQ(KindOf(Step(0, 0, 0, (uint64_t{1} << 31) - 1, 1)), "truncated");
  EXPECT_EQ(KindOf(Step(0, 0, 0, uint64_t{1} << 31, 1)), "bad_record");
}

TEST(TraceCodecTest, RefusesOtherRecordsThatCannotBe) {
  LittleEndianWriter unknown, newcomer, victim, cause, landed, rate;
  unknown.Number(uint8_t{7});
  EXPECT_EQ(KindOf(unknown), "bad_record");
  newcomer.Number(uint8_t{3}).Varint(0).Varint(8).Varint(0).Varint(0).Number(0.0);
  EXPECT_EQ(KindOf(newcomer), "bad_record");
  victim.Number(uint8_t{3}).Varint(0).Varint(7).Varint(9).Varint(0).Number(0.0);
  EXPECT_EQ(KindOf(victim), "bad_record");
  cause.Number(uint8_t{4}).Varint(0).Varint(7).Varint(0).Varint(5);
  EXPECT_EQ(KindOf(cause), "bad_record");
  // More landed than slots were offered.
  landed.Number(uint8_t{6}).Varint(0).Varint(1).Varint(2).Varint(0).Varint(0).Varint(1).Varint(1);
  EXPECT_EQ(KindOf(landed), "bad_record");
  rate.Number(uint8_t{2}).Varint(0).Number(1.0).Number(1.0);
  rate.Number(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(KindOf(rate), "bad_record");
}

TEST(TraceCodecTest, ReadsHeadersBack) {
  TraceHeader empty;
  empty.identity = TestIdentity(1, 1, 1);
  for (const TraceHeader& header : {TestTraceHeader(), empty}) {
    LittleEndianWriter writer;
    AppendTraceHeader(header, writer);
    LittleEndianReader reader(writer.bytes());
    const auto read = ReadTraceHeader(reader);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, header);
    EXPECT_EQ(reader.bytes_left(), 0u);
    for (size_t size = 0; size < writer.bytes().size(); ++size) {
      LittleEndianReader cut(absl::MakeConstSpan(writer.bytes()).first(size));
      EXPECT_EQ(ErrorKind(ReadTraceHeader(cut).status()), "truncated") << size;
    }
  }
}

std::string KindOfHeader(const std::function<void(TierSettings&)>& change) {
  TraceHeader header = TestTraceHeader();
  change(header.tier);
  LittleEndianWriter writer;
  AppendTraceHeader(header, writer);
  LittleEndianReader reader(writer.bytes());
  return ErrorKind(ReadTraceHeader(reader).status());
}

TEST(TraceCodecTest, RefusesHeadersThatCannotBe) {
  EXPECT_EQ(KindOfHeader([](TierSettings&) {}), "");
  EXPECT_EQ(KindOfHeader([](TierSettings& tier) { tier.slots[0].expert = 8; }), "bad_record");
  EXPECT_EQ(KindOfHeader([](TierSettings& tier) { tier.slots[1].expert = 2; }), "bad_record");
  EXPECT_EQ(KindOfHeader([](TierSettings& tier) { tier.slots[0].blob_bytes = -1; }), "bad_record");
  EXPECT_EQ(KindOfHeader([](TierSettings& tier) { tier.max_swaps = -1; }), "bad_record");
  EXPECT_EQ(KindOfHeader([](TierSettings& tier) { tier.ranking[0] = 0; }), "bad_record");
  EXPECT_EQ(KindOfHeader([](TierSettings& tier) { tier.ranking.pop_back(); }), "bad_record");
  EXPECT_EQ(KindOfHeader([](TierSettings& tier) { tier.seed_counts.pop_back(); }), "bad_record");
  EXPECT_EQ(KindOfHeader(
                [](TierSettings& tier) { tier.decay = std::numeric_limits<double>::infinity(); }),
            "bad_record");
  EXPECT_EQ(KindOfHeader([](TierSettings& tier) { tier.offered_share = 1; }), "bad_record");
  EXPECT_EQ(KindOfHeader([](TierSettings& tier) { tier.landing_classes = {0}; }), "bad_record");
  EXPECT_EQ(KindOfHeader([](TierSettings& tier) { tier.landing_classes = {0, 2}; }), "bad_record");
  EXPECT_EQ(KindOfHeader([](TierSettings& tier) { tier.num_offered = {1}; }), "bad_record");
  EXPECT_EQ(KindOfHeader([](TierSettings& tier) { tier.uses_per_step.pop_back(); }), "bad_record");
  EXPECT_EQ(KindOfHeader([](TierSettings& tier) { tier.landing_rule = LandingRule(2); }),
            "bad_record");
}

}  // namespace
}  // namespace strata
