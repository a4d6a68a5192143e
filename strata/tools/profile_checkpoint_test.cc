#include "strata/tools/profile_checkpoint.h"

#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>

#include "gtest/gtest.h"
#include "strata/cache/testing/test_profile.h"
#include "strata/core/checksum.h"
#include "strata/core/error.h"

namespace strata {
namespace {

constexpr Checksum kJob = {.low = 1, .high = 2};

struct ProfileCheckpointTest : testing::Test {
  ProfileCheckpointTest() {
    const ProfileCheckpoint checkpoint = {
        .job = kJob,
        .num_texts = 3,
        .num_contexts = 7,
        .profile = TestProfile({{1, 2}, {3, 4}}, 5, {"a"}),
    };
    EXPECT_TRUE(checkpoint.Save(path).ok());
    std::ifstream file(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }

  bool Loads(const std::string& content) const {
    std::ofstream(path, std::ios::binary) << content;
    return ProfileCheckpoint::Load(path, kJob).has_value();
  }

  const std::string path = testing::TempDir() + "/checkpoint";
  std::string bytes;
};

TEST_F(ProfileCheckpointTest, LoadsWhatWasSaved) {
  const auto loaded = ProfileCheckpoint::Load(path, kJob);
  ASSERT_TRUE(loaded.has_value());
  EXPECT_EQ(loaded->num_texts, 3u);
  EXPECT_EQ(loaded->num_contexts, 7u);
  EXPECT_EQ(loaded->profile, TestProfile({{1, 2}, {3, 4}}, 5, {"a"}));
}

TEST_F(ProfileCheckpointTest, WhatIsOfAnotherJobOrMissingIsNoCheckpoint) {
  EXPECT_FALSE(ProfileCheckpoint::Load(path, {.low = 1, .high = 3}).has_value());
  EXPECT_FALSE(ProfileCheckpoint::Load(path + ".not", kJob).has_value());
}

TEST_F(ProfileCheckpointTest, AFileOfAnotherKindIsNotItsPlace) {
  EXPECT_TRUE(ProfileCheckpoint::CheckPlace(path).ok());
  EXPECT_TRUE(ProfileCheckpoint::CheckPlace(path + ".not").ok());
  std::ofstream(path, std::ios::binary) << "STRAPART, but damaged";
  EXPECT_TRUE(ProfileCheckpoint::CheckPlace(path).ok());
  for (const char* other : {"", "STRAPAR", "notes of last year"}) {
    std::ofstream(path, std::ios::binary) << other;
    EXPECT_EQ(ErrorKind(ProfileCheckpoint::CheckPlace(path)), "bad_magic") << other;
  }
  EXPECT_EQ(ErrorKind(ProfileCheckpoint::CheckPlace(testing::TempDir())), "io");
}

TEST_F(ProfileCheckpointTest, WhatIsDamagedIsNoCheckpoint) {
  EXPECT_TRUE(Loads(bytes));
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_FALSE(Loads(damaged)) << i;
    EXPECT_FALSE(Loads(bytes.substr(0, i))) << i;
  }
  EXPECT_FALSE(Loads(bytes + "x"));
}

}  // namespace
}  // namespace strata
