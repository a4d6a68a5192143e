// Wrong profiles and traces made from right ones by the thousand: each must be refused with a
// documented kind, or be sound. STRATA_TEST_STEPS and STRATA_TEST_SEED repeat or lengthen a run.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/cache/profile/expert_profile_file.h"
#include "strata/cache/testing/profile_invariants.h"
#include "strata/cache/testing/test_profile.h"
#include "strata/cache/testing/test_trace.h"
#include "strata/cache/trace/routing_trace.h"
#include "strata/cache/trace/trace_codec.h"
#include "strata/core/gguf/scratch_file.h"
#include "strata/core/little_endian.h"
#include "strata/core/test_seed.h"

namespace strata {
namespace {

using Bytes = std::vector<std::byte>;

#ifdef __SANITIZE_THREAD__
constexpr int64_t kInputs = 3000;
#else
constexpr int64_t kInputs = 30000;
#endif

// One to three changes: a byte or a number set, bytes cut out, or some repeated.
Bytes Mutate(Bytes bytes, std::mt19937_64& random) {
  const uint64_t edges[] = {0,
                            1,
                            2,
                            0x7f,
                            0x80,
                            0xff,
                            0x100,
                            0x10000,
                            0x7fffffff,
                            ~0u,
                            uint64_t{1} << 38,
                            INT64_MAX,
                            ~uint64_t{0},
                            random()};
  for (uint64_t left = 1 + random() % 3; left > 0 && !bytes.empty(); --left) {
    const size_t place = random() % bytes.size();
    const size_t length = std::min<size_t>(1 + random() % 24, bytes.size() - place);
    switch (random() % 5) {
      case 0:
        bytes[place] = static_cast<std::byte>(random());
        break;
      case 1: {
        const uint64_t edge = edges[random() % std::size(edges)];
        std::memcpy(&bytes[place], &edge, std::min(length, size_t{1} << random() % 4));
        break;
      }
      case 2:
        bytes.erase(bytes.begin() + place, bytes.begin() + place + length);
        break;
      case 3: {
        const Bytes piece(bytes.begin() + place, bytes.begin() + place + length);
        bytes.insert(bytes.begin() + place, piece.begin(), piece.end());
        break;
      }
      default:
        bytes[place] ^= static_cast<std::byte>(1 << random() % 8);
    }
  }
  return bytes;
}

Bytes Body(const Bytes& profile) { return Bytes(profile.begin() + 20, profile.end() - 16); }

TEST(ProfileMutationTest, ChangedProfilesAreRefusedOrSound) {
  const Bytes whole = ProfileBytes(TestProfile({{1, 2, 3, 0}, {4, 5, 600, 7}}, 9, {"b#2", "a#1"}));
  const uint64_t seed = TestSeed();
  const int64_t inputs = TestSteps(kInputs);
  ASSERT_EQ(BrokenProfile(whole), "");
  ASSERT_EQ(ProfileOfBody(Body(whole)), whole);
  int64_t accepted = 0;
  for (int64_t input = 0; input < inputs; ++input) {
    std::seed_seq sequence{seed, static_cast<uint64_t>(input)};
    std::mt19937_64 random(sequence);
    ASSERT_EQ(BrokenProfile(Mutate(whole, random)), "") << "input " << input << " of " << seed;
    const Bytes checked = ProfileOfBody(Mutate(Body(whole), random));
    ASSERT_EQ(BrokenProfile(checked), "") << "input " << input << " of " << seed;
    accepted += ParseProfile(checked, "").ok() ? 1 : 0;
  }
  std::cout << "accepted: " << accepted << std::endl;
  // Where nearly all is refused at the first look, the rest is not tried.
  EXPECT_GT(accepted, inputs / 50);
}

absl::string_view Text(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(ProfileMutationTest, ChangedTracesAreRefusedOrSound) {
  const TraceHeader header = TestTraceHeader();
  const ExpertGeometry& geometry = header.identity.geometry;
  LittleEndianWriter header_bytes, records;
  AppendTraceHeader(header, header_bytes);
  for (int i = 0; i < 3; ++i) AppendTraceRecord(geometry, TestStep(geometry, i, 3 - i), records);
  AppendTraceRecord(TraceRates{.step = 2, .copy_bytes_per_ns = 50}, records);
  AppendTraceRecord(TraceSwap{.step = 2, .newcomer = 5, .victim = 2}, records);
  AppendTraceRecord(TraceResidency{.step = 3, .expert = 5, .resident = true}, records);
  ScratchFile file;
  const uint64_t seed = TestSeed();
  const int64_t inputs = TestSteps(kInputs);
  int64_t accepted = 0;
  for (int64_t input = 0; input < inputs; ++input) {
    std::seed_seq sequence{seed, static_cast<uint64_t>(input)};
    std::mt19937_64 random(sequence);
    const bool of_header = random() % 2 == 0;
    Bytes trace =
        TraceOfPayloads(of_header ? Mutate(header_bytes.bytes(), random) : header_bytes.bytes(),
                        of_header ? records.bytes() : Mutate(records.bytes(), random));
    if (random() % 8 == 0) trace = Mutate(trace, random);
    file.Set(Text(trace));
    ASSERT_EQ(BrokenTrace(file.path()), "") << "input " << input << " of " << seed;
    accepted += RoutingTraceReader::Open(file.path()).ok() ? 1 : 0;
  }
  std::cout << "headers accepted: " << accepted << std::endl;
  EXPECT_GT(accepted, inputs / 2);
}

}  // namespace
}  // namespace strata
