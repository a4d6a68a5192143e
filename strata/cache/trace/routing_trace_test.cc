#include "strata/cache/trace/routing_trace.h"

#include <sys/resource.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/cache/policy/landing_rule.h"
#include "strata/cache/testing/test_profile.h"
#include "strata/cache/testing/test_trace.h"
#include "strata/cache/trace/trace_records.h"
#include "strata/core/checksum.h"
#include "strata/core/error.h"
#include "strata/core/little_endian.h"

namespace strata {
namespace {

std::string TestPath() { return testing::TempDir() + "/trace"; }

void Write(const std::string& bytes) {
  std::ofstream(TestPath(), std::ios::binary | std::ios::trunc) << bytes;
}

std::string Written() {
  std::ifstream file(TestPath(), std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::unique_ptr<RoutingTraceWriter> Create(const TraceHeader& header) {
  auto writer = RoutingTraceWriter::Create(TestPath(), header);
  EXPECT_TRUE(writer.ok()) << writer.status();
  return *std::move(writer);
}

// All records, or the error that ends the reading.
absl::StatusOr<std::vector<TraceRecord>> ReadAll() {
  const auto reader = RoutingTraceReader::Open(TestPath());
  if (!reader.ok()) return reader.status();
  std::vector<TraceRecord> records;
  while (true) {
    const auto record = (*reader)->Next();
    if (!record.ok()) return record.status();
    if (!record->has_value()) return records;
    records.push_back(**record);
  }
}

std::string KindOfFile(const std::string& bytes) {
  Write(bytes);
  const auto records = ReadAll();
  EXPECT_EQ(ErrorFile(records.status()), records.ok() ? "" : TestPath());
  return ErrorKind(records.status());
}

std::vector<TraceRecord> WriteSample() {
  const TraceHeader header = TestTraceHeader();
  const std::vector<TraceRecord> records = {
      TestStep(header.identity.geometry, 0, 5),
      TestStep(header.identity.geometry, 1, 1),
      TraceRates{.step = 1, .copy_bytes_per_ns = 50},
      TraceSwap{.step = 1, .newcomer = 3, .victim = 2},
      TraceResidency{.step = 2, .expert = 2, .cause = TraceResidency::Cause::kSwap},
      TestStep(header.identity.geometry, 2, 1),
      TraceResidency{
          .step = 3, .expert = 3, .resident = true, .cause = TraceResidency::Cause::kSwap},
      TraceLandings{.step = 3, .num_offered = 2, .landed = {{.expert = 6, .slot = 1}}},
      TestStep(header.identity.geometry, 7, 1)};
  const auto writer = Create(header);
  for (const TraceRecord& record : records) {
    if (const auto* step = std::get_if<RoutedStep>(&record)) writer->AddStep(*step);
    if (const auto* rates = std::get_if<TraceRates>(&record)) writer->AddRates(*rates);
    if (const auto* swap = std::get_if<TraceSwap>(&record)) writer->AddSwap(*swap);
    if (const auto* change = std::get_if<TraceResidency>(&record)) writer->AddResidency(*change);
    if (const auto* landings = std::get_if<TraceLandings>(&record)) writer->AddLandings(*landings);
  }
  const absl::Status status = writer->Finish();
  EXPECT_TRUE(status.ok()) << status;
  return records;
}

TEST(RoutingTraceTest, ReadsBackWhatWasWrittenInOrder) {
  const std::vector<TraceRecord> records = WriteSample();
  const auto reader = RoutingTraceReader::Open(TestPath());
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->header(), TestTraceHeader());
  const auto read = ReadAll();
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, records);
}

TEST(RoutingTraceTest, ATraceOfManyBlocksIsReadWhole) {
  const TraceHeader header = TestTraceHeader(/*num_experts=*/300);
  const ExpertGeometry& geometry = header.identity.geometry;
  const auto writer = Create(header);
  // The second step alone is larger than a block.
  const auto step = [&](int64_t i) { return TestStep(geometry, i, i == 1 ? 50000 : 64); };
  constexpr int kSteps = 2000;
  for (int i = 0; i < kSteps; ++i) writer->AddStep(step(i));
  ASSERT_TRUE(writer->Finish().ok());
  const auto reader = RoutingTraceReader::Open(TestPath());
  ASSERT_TRUE(reader.ok()) << reader.status();
  for (int i = 0; i < kSteps; ++i) {
    const auto record = (*reader)->Next();
    ASSERT_TRUE(record.ok()) << record.status();
    ASSERT_TRUE(record->has_value());
    ASSERT_EQ(std::get<RoutedStep>(**record), step(i));
  }
  EXPECT_FALSE((*reader)->Next()->has_value());
}

TEST(RoutingTraceTest, AnEmptyRunIsATrace) {
  ASSERT_TRUE(Create(TestTraceHeader())->Finish().ok());
  const auto records = ReadAll();
  ASSERT_TRUE(records.ok()) << records.status();
  EXPECT_TRUE(records->empty());
}

TEST(RoutingTraceTest, ARunThatDoesNotFinishLeavesNoFile) {
  std::filesystem::remove(TestPath());
  {
    const auto writer = Create(TestTraceHeader());
    for (int i = 0; i < 1000; ++i) {
      writer->AddStep(TestStep(TestTraceHeader().identity.geometry, i, 64));
    }
    EXPECT_FALSE(std::filesystem::exists(TestPath()));
  }
  EXPECT_FALSE(std::filesystem::exists(TestPath()));
}

TEST(RoutingTraceTest, AFullDiskIsTheMachines) {
  const auto writer = RoutingTraceWriter::Create("/dev/full", TestTraceHeader());
  EXPECT_EQ(ExitCodeOf(writer.status()), ExitCode::kMachine);
}

TEST(RoutingTraceTest, AnErrorOfWritingIsKeptForTheEnd) {
  std::filesystem::remove(TestPath());
  const auto writer = Create(TestTraceHeader());
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {.rlim_cur = 100000, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  for (int i = 0; i < 1000; ++i) {
    writer->AddStep(TestStep(TestTraceHeader().identity.geometry, i, 64));
  }
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_FALSE(writer->status().ok());
  EXPECT_EQ(ErrorKind(writer->Finish()), "io");
  EXPECT_FALSE(std::filesystem::exists(TestPath()));
}

TEST(RoutingTraceTest, WhatIsCutShortOrDamagedIsTold) {
  WriteSample();
  const std::string good = Written();
  ASSERT_EQ(KindOfFile(good), "");
  for (size_t size = 8; size < good.size(); ++size) {
    EXPECT_EQ(KindOfFile(good.substr(0, size)), "truncated") << size;
  }
  EXPECT_EQ(KindOfFile(good.substr(0, 7)), "bad_magic");
  EXPECT_EQ(KindOfFile(good + "x"), "bad_length");
  for (size_t i = 0; i < good.size(); ++i) {
    std::string damaged = good;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_NE(KindOfFile(damaged), "") << i;
  }
}

// A file of these payloads, with right checksums.
std::string FileOf(const std::vector<std::vector<std::byte>>& payloads,
                   uint32_t version = kTraceVersion) {
  LittleEndianWriter file;
  file.Raw("STRATRAC").Number(version);
  for (uint64_t number = 0; number < payloads.size(); ++number) {
    LittleEndianWriter checked;
    checked.Number(number).Raw(payloads[number]);
    const Checksum checksum = ChecksumOf(checked.bytes());
    file.Number(static_cast<uint32_t>(payloads[number].size())).Raw(payloads[number]);
    file.Number(checksum.low).Number(checksum.high);
  }
  return std::string(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
}

std::vector<std::byte> HeaderPayload() {
  LittleEndianWriter header;
  AppendTraceHeader(TestTraceHeader(), header);
  return header.bytes();
}

std::vector<std::byte> StepPayload(int64_t number) {
  LittleEndianWriter step;
  const ExpertGeometry geometry = TestTraceHeader().identity.geometry;
  AppendTraceRecord(geometry, TestStep(geometry, number, 2), step);
  return step.bytes();
}

// docs/formats.md, byte for byte.
TEST(RoutingTraceTest, LooksAsDocumented) {
  const auto writer = Create(TestTraceHeader());
  writer->AddStep(TestStep(TestTraceHeader().identity.geometry, 4, 2));
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_EQ(Written(), FileOf({HeaderPayload(), StepPayload(4), {}}));
}

TEST(RoutingTraceTest, Version1IsReadAndKnowsNoLanding) {
  TraceHeader header = TestTraceHeader();
  header.tier.offered_share = 0;
  header.tier.landing_rule = LandingRule::kAdaptive;
  header.tier.landing_classes.clear();
  header.tier.num_offered.clear();
  header.tier.uses_per_step.clear();
  LittleEndianWriter writer;
  AppendTraceHeader(header, writer);
  // What version 2 has added: a share and three empty lists; and version 3: a rule.
  std::vector<std::byte> first = writer.bytes();
  first.resize(first.size() - sizeof(double) - 4);
  EXPECT_EQ(KindOfFile(FileOf({first, StepPayload(4), {}}, /*version=*/1)), "");
  const auto reader = RoutingTraceReader::Open(TestPath());
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->header(), header);
  LittleEndianWriter landings;
  AppendTraceRecord(TraceLandings{.num_offered = 1}, landings);
  EXPECT_EQ(KindOfFile(FileOf({first, landings.bytes(), {}}, /*version=*/1)), "bad_record");
  EXPECT_EQ(KindOfFile(FileOf({HeaderPayload(), landings.bytes(), {}})), "");
}

TEST(RoutingTraceTest, Version2IsReadAndKnowsOneRuleOfLanding) {
  TraceHeader header = TestTraceHeader();
  ASSERT_EQ(header.tier.landing_rule, LandingRule::kLearned);
  std::vector<std::byte> first = HeaderPayload();
  first.pop_back();
  EXPECT_EQ(KindOfFile(FileOf({first, StepPayload(4), {}}, /*version=*/2)), "");
  const auto reader = RoutingTraceReader::Open(TestPath());
  ASSERT_TRUE(reader.ok()) << reader.status();
  header.tier.landing_rule = LandingRule::kAdaptive;
  EXPECT_EQ((*reader)->header(), header);
}

TEST(RoutingTraceTest, BlocksInAnotherOrderAreTold) {
  const std::string right = FileOf({HeaderPayload(), StepPayload(1), StepPayload(2), {}});
  EXPECT_EQ(KindOfFile(right), "");
  const size_t block = 20 + StepPayload(1).size();
  const size_t first = 12 + 20 + HeaderPayload().size();
  const std::string swapped = right.substr(0, first) + right.substr(first + block, block) +
                              right.substr(first, block) + right.substr(first + 2 * block);
  EXPECT_EQ(KindOfFile(swapped), "bad_checksum");
  EXPECT_EQ(KindOfFile(right.substr(0, first) + right.substr(first + block)), "bad_checksum");
}

TEST(RoutingTraceTest, RefusesImpossibleContentUnderRightChecksums) {
  EXPECT_EQ(KindOfFile(FileOf({HeaderPayload(), StepPayload(2), StepPayload(2), {}})),
            "bad_record");
  LittleEndianWriter change;
  AppendTraceRecord(TraceResidency{.slot = 2}, change);
  EXPECT_EQ(KindOfFile(FileOf({HeaderPayload(), change.bytes(), {}})), "bad_record");
  std::vector<std::byte> longer = HeaderPayload();
  longer.push_back({});
  EXPECT_EQ(KindOfFile(FileOf({longer, {}})), "bad_record");
  std::vector<std::byte> cut = StepPayload(1);
  cut.pop_back();
  EXPECT_EQ(KindOfFile(FileOf({HeaderPayload(), cut, {}})), "truncated");
  EXPECT_EQ(KindOfFile(FileOf({HeaderPayload(), {}, {}})), "bad_length");
  EXPECT_EQ(KindOfFile(FileOf({HeaderPayload()})), "truncated");
  EXPECT_EQ(KindOfFile(FileOf({})), "truncated");
  EXPECT_EQ(KindOfFile(FileOf({{}})), "truncated");
}

TEST(RoutingTraceTest, OtherFilesAreRefusedByWhatTheyAre) {
  EXPECT_EQ(KindOfFile("STRATRAC\2\0\0\0"), "truncated");
  EXPECT_EQ(KindOfFile(std::string("STRATRAC\4\0\0\0", 12)), "bad_version");
  EXPECT_EQ(KindOfFile(""), "bad_magic");
  EXPECT_EQ(ErrorKind(RoutingTraceReader::Open("/no/such").status()), "io");
}

}  // namespace
}  // namespace strata
