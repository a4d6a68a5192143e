#include "strata/cache/profile/expert_profile_file.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/cache/profile/expert_profile.h"
#include "strata/cache/testing/test_profile.h"
#include "strata/core/checksum.h"
#include "strata/core/error.h"
#include "strata/core/little_endian.h"
#include "strata/core/test_seed.h"

namespace strata {
namespace {

using Bytes = std::vector<std::byte>;

ExpertProfile Sample() {
  return TestProfile({{1, 2, 3}, {4, 5, 600}}, 700, {"b.txt#2", "a.txt#1"});
}

std::string KindOf(const Bytes& bytes) {
  const auto profile = ParseProfile(bytes, "x.profile");
  EXPECT_EQ(ErrorFile(profile.status()), profile.ok() ? "" : "x.profile");
  return ErrorKind(profile.status());
}

// Writes `value` at `offset` and makes the checksum right again.
template <typename T>
Bytes With(Bytes bytes, size_t offset, T value) {
  LittleEndianWriter writer;
  writer.Raw(absl::MakeConstSpan(bytes).first(offset)).Number(value);
  writer.Raw(absl::MakeConstSpan(bytes).subspan(offset + sizeof value));
  const auto content = absl::MakeConstSpan(writer.bytes()).first(bytes.size() - 16);
  const Checksum checksum = ChecksumOf(content);
  LittleEndianWriter whole;
  whole.Raw(content).Number(checksum.low).Number(checksum.high);
  return whole.bytes();
}

TEST(ExpertProfileFileTest, ReadsWhatItWrote) {
  const auto profile = ParseProfile(ProfileBytes(Sample()), "");
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(*profile, Sample());
}

// docs/formats.md, byte for byte.
TEST(ExpertProfileFileTest, LooksAsDocumented) {
  const Bytes bytes = ProfileBytes(TestProfile({{7, 8}}, 15, {"t"}));
  LittleEndianWriter expected;
  expected.Raw("STRAPROF").Number(uint32_t{1}).Number(uint64_t{94});
  expected.Number(uint32_t{1}).Number(uint32_t{2}).Number(uint32_t{1});
  for (const uint64_t word : {1, 2, 3, 4}) expected.Number(word);
  expected.Number(uint32_t{1}).Number(uint64_t{1024}).Number(uint64_t{1000});
  expected.Number(uint64_t{15}).Number(uint64_t{7}).Number(uint64_t{8});
  expected.Number(uint32_t{1}).Number(uint8_t{1}).Raw("t");
  const Checksum checksum = ChecksumOf(expected.bytes());
  expected.Number(checksum.low).Number(checksum.high);
  EXPECT_EQ(bytes, expected.bytes());
}

TEST(ExpertProfileFileTest, SaysWhatIsWrong) {
  const Bytes good = ProfileBytes(Sample());
  EXPECT_EQ(KindOf({}), "bad_magic");
  EXPECT_EQ(KindOf(With(good, 0, 'x')), "bad_magic");
  EXPECT_EQ(KindOf(With(good, 8, uint32_t{2})), "bad_version");
  for (size_t size = 8; size < good.size(); ++size) {
    EXPECT_EQ(KindOf(Bytes(good.begin(), good.begin() + size)), "truncated") << size;
  }
  Bytes longer = good;
  longer.push_back({});
  EXPECT_EQ(KindOf(longer), "bad_length");
  EXPECT_EQ(KindOf(With(good, 12, ~uint64_t{0})), "truncated");
  for (size_t i = 20; i < good.size(); ++i) {
    Bytes damaged = good;
    damaged[i] ^= std::byte{1};
    EXPECT_EQ(KindOf(damaged), "bad_checksum") << i;
  }
}

// Preamble 20, model 44 and 20 a layer, tokens at 104, counts at 112, sources at 160.
TEST(ExpertProfileFileTest, RefusesImpossibleContentUnderARightChecksum) {
  const Bytes good = ProfileBytes(Sample());
  EXPECT_EQ(KindOf(With(good, 20, uint32_t{0})), "bad_geometry");
  EXPECT_EQ(KindOf(With(good, 24, uint32_t{60000})), "truncated");
  EXPECT_EQ(KindOf(With(good, 104, ~uint64_t{0})), "size_overflow");
  EXPECT_EQ(KindOf(With(good, 112, ExpertProfile::kMaxTotal)), "size_overflow");
  EXPECT_EQ(KindOf(With(good, 112, ~uint64_t{0})), "size_overflow");
  EXPECT_EQ(KindOf(With(good, 160, ~uint32_t{0})), "truncated");
  EXPECT_EQ(KindOf(With(good, 160, uint32_t{1})), "bad_length");
  EXPECT_EQ(KindOf(With(With(good, 165, 'b'), 171, '2')), "bad_source");  // Twice the same.
  EXPECT_EQ(KindOf(With(good, 165, 'c')), "bad_source");                  // Out of order.
  EXPECT_EQ(KindOf(With(good, 165, 'b')), "");                            // Another label.
  EXPECT_EQ(KindOf(With(good, 165, '\n')), "bad_source");                 // No label.
}

TEST(ExpertProfileFileTest, SavesAndLoads) {
  const std::string path = testing::TempDir() + "/saved.profile";
  ASSERT_TRUE(SaveProfile(Sample(), path).ok());
  const auto profile = LoadProfileOf(Sample().identity(), path);
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(*profile, Sample());
  const auto other = LoadProfileOf(TestIdentity(1, 2, 1), path);
  EXPECT_EQ(ErrorKind(other.status()), "profile_mismatch");
  EXPECT_EQ(ErrorFile(other.status()), path);
  EXPECT_EQ(ErrorKind(LoadProfile("/no/such").status()), "io");
  EXPECT_EQ(ErrorKind(SaveProfile(Sample(), "/no/such/place")), "io");
}

// Writes one profile and the other until it is killed.
pid_t StartWriter(const std::string& path, const ExpertProfile& one, const ExpertProfile& other) {
  const pid_t child = fork();
  if (child != 0) return child;
  while (SaveProfile(one, path).ok() && SaveProfile(other, path).ok()) {
  }
  _exit(1);
}

TEST(ExpertProfileFileTest, AKillAtAnyMomentLeavesTheOldFileOrTheNew) {
  const std::string folder = testing::TempDir() + "/killed";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::string path = folder + "/p.profile";
  std::vector<std::vector<uint64_t>> counts(8, std::vector<uint64_t>(4096, 1));
  const ExpertProfile one = TestProfile(counts, 1, {"one"});
  counts.back().back() = 1000;
  const ExpertProfile other = TestProfile(counts, 2, {"other"});
  ASSERT_TRUE(SaveProfile(one, path).ok());
  const uint64_t seed = TestSeed();
  std::mt19937 random(seed);
  int num_half_written = 0;
  for (int64_t kill_number = TestSteps(200); kill_number > 0; --kill_number) {
    const pid_t child = StartWriter(path, one, other);
    ASSERT_GT(child, 0);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 10000));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer stopped by itself";
    const auto found = LoadProfile(path);
    ASSERT_TRUE(found.ok()) << found.status() << ", seed " << seed;
    EXPECT_TRUE(*found == one || *found == other);
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      if (file.path() != path) num_half_written += std::filesystem::remove(file.path());
    }
  }
  // Else no kill hit a moment of writing.
  EXPECT_GT(num_half_written, 0);
}

}  // namespace
}  // namespace strata
