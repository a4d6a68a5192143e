#include "strata/cache/pack/pack_manifest_file.h"

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/pack/pack_folder.h"
#include "strata/cache/pack/pack_manifest.h"
#include "strata/cache/pack/testing/small_model.h"
#include "strata/core/error.h"

namespace strata {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

// Of a pack that was built.
std::string TestManifest(const SmallModelShape& shape = {}) {
  const std::string folder = NewFolder("manifest");
  const OpenModel model(WriteSmallModel(folder, "model", shape));
  const absl::Status built = BuildPack(model, PackOptions(model, folder + "/pack"));
  EXPECT_TRUE(built.ok()) << built;
  return ReadFile(PackFolder(folder + "/pack").manifest());
}

std::string Kind(absl::string_view text) { return ErrorKind(ParseManifest(text, "m").status()); }

TEST(PackManifestFileTest, IsReadAsItWasWritten) {
  for (const char* form : {"merged", "fused", "separate"}) {
    const std::string text = TestManifest({.form = form, .shards = 2});
    const absl::StatusOr<PackManifest> manifest = ParseManifest(text, "");
    ASSERT_TRUE(manifest.ok()) << manifest.status();
    EXPECT_EQ(manifest->layers.size(), 2u);
    EXPECT_EQ(manifest->num_all_experts(), 8);
    EXPECT_EQ(ManifestText(*manifest), text);
  }
}

TEST(PackManifestFileTest, EveryChangedByteIsRefused) {
  std::string text = TestManifest();
  for (char& byte : text) {
    byte = static_cast<char>(byte ^ 1);
    EXPECT_THAT(Kind(text), AnyOf("bad_magic", "bad_checksum"));
    byte = static_cast<char>(byte ^ 1);
  }
}

TEST(PackManifestFileTest, EveryCutAndWhatComesAfterTheEndAreRefused) {
  const std::string text = TestManifest();
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_NE(Kind(text.substr(0, length)), "") << length;
  }
  EXPECT_EQ(Kind(text + "\n"), "bad_checksum");
}

// A manifest under a right checksum in which the first `from` is `to`.
std::string Changed(const std::string& text, const std::string& from, const std::string& to) {
  std::string body = text.substr(0, text.rfind(",\n \"checksum\""));
  const size_t place = body.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  body.replace(place, from.size(), to);
  return WithManifestChecksum(body);
}

TEST(PackManifestFileTest, WhatCannotBeIsRefusedUnderARightChecksum) {
  const std::string text = TestManifest();
  ASSERT_EQ(Kind(Changed(text, "a test", "another")), "");
  EXPECT_EQ(Kind(Changed(text, "strata-pack", "other-pack")), "bad_magic");
  EXPECT_EQ(Kind(Changed(text, "\"version\": 1", "\"version\": 2")), "bad_version");
  const struct {
    const char* from;
    const char* to;
  } changes[] = {
      {"\"routers\"", "\"router\""},
      {"\"offset\": 0", "\"offset\": 1"},
      {"\"experts_of_layer\": 4", "\"experts_of_layer\": 5"},
      {"\"experts_of_layer\": 4", "\"experts_of_layer\": 2147483647"},
      {"\"experts_used\": 1", "\"experts_used\": 0"},
      {"\"layers\": 2", "\"layers\": 3"},
      {"\"dims\": [\n", "\"dims\": [ 1, 1, 1, 1,\n"},
      {"\"type\": \"F32\"", "\"type\": \"F33\""},
      {"\"role\": \"gate\"", "\"role\": \"gates\""},
      {"\"block\": 0", "\"block\": 1"},
      {"\"block\": 0", "\"block\": -1"},
      {"\"block\": 0", "\"block\": 1e99"},
      {"\"file\": \"experts.bin\"", "\"file\": \"../../x\""},
      {"\"alignment\": 4096", "\"alignment\": 512"},
      {"\"bytes\": 1600", "\"bytes\": 1599"},
      {"\"shard\": 0", "\"shard\": 1"},
      {"\"tensors\": [\n", "\"tensors\": [ 0,\n"},
  };
  for (const auto& change : changes) {
    EXPECT_EQ(Kind(Changed(text, change.from, change.to)), "bad_manifest")
        << change.from << " as " << change.to;
  }
}

TEST(PackManifestFileTest, WhatIsNestedWithoutEndIsRefused) {
  const std::string text = TestManifest();
  const std::string depth(1000000, '['), end(1000000, ']');
  EXPECT_EQ(Kind(Changed(text, "\"version\"", "\"x\": " + depth + end + ", \"version\"")),
            "bad_manifest");
  EXPECT_EQ(Kind(WithManifestChecksum("{\"x\": " + depth)), "bad_magic");
}

TEST(PackManifestFileTest, AHashThatIsNotThatOfItsPartsIsRefused) {
  absl::StatusOr<PackManifest> manifest = ParseManifest(TestManifest(), "");
  ASSERT_TRUE(manifest.ok());
  manifest->shards[0].hash.low ^= 1;
  EXPECT_THAT(ParseManifest(ManifestText(*manifest), "").status().message(),
              HasSubstr("hash of shard 0"));
}

}  // namespace
}  // namespace strata
