// Wrong manifests and notes of unfinished builds made from right ones by the thousand, under right
// checksums: each must be refused with a documented kind, or be sound. STRATA_TEST_STEPS and
// STRATA_TEST_SEED repeat or lengthen a run.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/cache/pack/pack_checkpoint.h"
#include "strata/cache/pack/pack_manifest_file.h"
#include "strata/cache/pack/testing/pack_invariants.h"
#include "strata/cache/pack/testing/small_model.h"
#include "strata/core/checksum.h"
#include "strata/core/test_seed.h"

namespace strata {
namespace {

// One to three changes: a character, a number, a piece cut out or repeated.
std::string Mutate(std::string text, std::mt19937_64& random) {
  const char* const edges[] = {"0",    "1",    "-1", "4096", "2147483648", "9223372036854775807",
                               "1e30", "null", "{}", "[]",   "\"\"",       "true"};
  for (uint64_t left = 1 + random() % 3; left > 0; --left) {
    const size_t place = random() % text.size();
    const size_t length = std::min<size_t>(1 + random() % 40, text.size() - place);
    switch (random() % 4) {
      case 0:
        text[place] = static_cast<char>(random());
        break;
      case 1: {
        const size_t digit = text.find_first_of("0123456789", place);
        if (digit == std::string::npos) break;
        const size_t end = std::min(text.find_first_not_of("0123456789", digit), text.size());
        text.replace(digit, end - digit, edges[random() % std::size(edges)]);
        break;
      }
      case 2:
        text.erase(place, length);
        break;
      default:
        text.insert(place, text.substr(place, length));
    }
    if (text.empty()) return "{";
  }
  return text;
}

TEST(PackMutationTest, ChangedManifestsAreRefusedOrSound) {
  const std::string folder = NewFolder("mutation");
  const OpenModel model(WriteSmallModel(folder, "model", {.layers = 2, .experts = 2, .width = 12}));
  ASSERT_TRUE(BuildPack(model, PackOptions(model, folder + "/pack")).ok());
  const std::string text = ReadFile(folder + "/pack/manifest.json");
  const std::string body = text.substr(0, text.rfind(",\n \"checksum\""));
  ASSERT_EQ(WithManifestChecksum(body), text);
  ASSERT_EQ(BrokenManifest(text), "");
  const uint64_t seed = TestSeed();
  const int64_t inputs = TestSteps(10000);
  int64_t accepted = 0;
  for (int64_t input = 0; input < inputs; ++input) {
    std::seed_seq sequence{seed, static_cast<uint64_t>(input)};
    std::mt19937_64 random(sequence);
    const std::string changed = WithManifestChecksum(Mutate(body, random));
    ASSERT_EQ(BrokenManifest(changed), "") << "input " << input << " of " << seed;
    accepted += ParseManifest(changed, "").ok() ? 1 : 0;
  }
  std::cout << "accepted: " << accepted << " of " << inputs << std::endl;
  EXPECT_GT(accepted, 0);
}

TEST(PackMutationTest, ChangedNotesOfUnfinishedBuildsAreRefusedOrSound) {
  const PackCheckpoint checkpoint = {
      .job = {1, 2}, .resume = "pack_build x", .units = {{{1, 2}}, {}, {{3, 4}, {5, 6}}}};
  const std::vector<std::byte> whole = checkpoint.Bytes();
  const std::string body(reinterpret_cast<const char*>(whole.data()), whole.size() - 16);
  const uint64_t seed = TestSeed();
  const int64_t inputs = TestSteps(10000);
  for (int64_t input = 0; input < inputs; ++input) {
    std::seed_seq sequence{seed, static_cast<uint64_t>(input)};
    std::mt19937_64 random(sequence);
    std::string changed = Mutate(body, random);
    const auto bytes = [&changed] {
      return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(changed.data()),
                                 changed.size());
    };
    const Checksum checksum = ChecksumOf(bytes());
    changed.append(reinterpret_cast<const char*>(&checksum.low), sizeof checksum.low);
    changed.append(reinterpret_cast<const char*>(&checksum.high), sizeof checksum.high);
    ASSERT_EQ(BrokenCheckpoint(bytes()), "") << "input " << input << " of " << seed;
  }
}

}  // namespace
}  // namespace strata
