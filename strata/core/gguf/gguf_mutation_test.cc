// Wrong files made from right ones by the thousand: each must be refused with a documented kind, or
// be sound in all that can be read of it.
//
// STRATA_MUTATIONS sets the number of random inputs (default 100000), STRATA_MUTATION_SEED where
// they begin (default 1). Input i of a seed is the same in every run.

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "gtest/gtest.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_invariants.h"
#include "strata/core/gguf/gguf_mutator.h"
#include "strata/core/gguf/gguf_sample_files.h"
#include "strata/core/gguf/scratch_file.h"

namespace strata {
namespace {

namespace fs = std::filesystem;

uint64_t NumberFromEnvironment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  uint64_t number = 0;
  return text != nullptr && absl::SimpleAtoi(text, &number) ? number : otherwise;
}

// ThreadSanitizer has little to see in one thread, and takes its time.
#ifdef __SANITIZE_THREAD__
constexpr uint64_t kDefaultMutations = 10000;
#else
constexpr uint64_t kDefaultMutations = 100000;
#endif

uint64_t NumMutations() { return NumberFromEnvironment("STRATA_MUTATIONS", kDefaultMutations); }
uint64_t Seed() { return NumberFromEnvironment("STRATA_MUTATION_SEED", 1); }

std::mt19937_64 RandomOf(uint64_t input) {
  std::seed_seq sequence{Seed(), input};
  return std::mt19937_64(sequence);
}

std::vector<GgufMutator> Mutators() {
  std::vector<GgufMutator> mutators;
  for (const SampleFile& sample : SampleFiles()) mutators.emplace_back(sample.bytes);
  return mutators;
}

TEST(GgufMutationTest, TheFilesToMutateAreSound) {
  ScratchFile scratch;
  for (const SampleFile& sample : SampleFiles()) {
    scratch.Set(sample.bytes);
    const auto file = GgufFile::Open(scratch.path());
    EXPECT_TRUE(file.ok()) << sample.name << ": " << file.status();
    EXPECT_EQ(BrokenInvariant(file), "") << sample.name;
  }
}

TEST(GgufMutationTest, AFileCutAnywhereInItsHeaderIsRefused) {
  ScratchFile scratch;
  int tried = 0;
  for (const GgufMutator& mutator : Mutators()) {
    for (size_t bytes = 0; bytes < mutator.header_bytes(); ++bytes, ++tried) {
      scratch.Set(mutator.file().substr(0, bytes));
      const auto file = GgufFile::Open(scratch.path());
      EXPECT_FALSE(file.ok()) << bytes;
      EXPECT_EQ(BrokenInvariant(file), "") << bytes;
    }
  }
  std::cout << "cut files tried: " << tried << std::endl;
}

TEST(GgufMutationTest, EveryFieldAtEveryEdgeIsRefusedOrSound) {
  ScratchFile scratch;
  size_t tried = 0;
  size_t accepted = 0;
  for (const GgufMutator& mutator : Mutators()) {
    for (size_t change = 0; change < mutator.num_field_changes(); ++change, ++tried) {
      scratch.Set(mutator.WithFieldChanged(change));
      const auto file = GgufFile::Open(scratch.path());
      accepted += file.ok() ? 1 : 0;
      ASSERT_EQ(BrokenInvariant(file), "") << "change " << change;
    }
  }
  std::cout << "changed fields tried: " << tried << ", accepted: " << accepted << std::endl;
}

TEST(GgufMutationTest, RandomChangesAreRefusedOrSound) {
  const std::vector<GgufMutator> mutators = Mutators();
  ScratchFile scratch;
  uint64_t accepted = 0;
  for (uint64_t input = 0; input < NumMutations(); ++input) {
    std::mt19937_64 random = RandomOf(input);
    scratch.Set(mutators[input % mutators.size()].Mutate(random));
    const auto file = GgufFile::Open(scratch.path());
    accepted += file.ok() ? 1 : 0;
    ASSERT_EQ(BrokenInvariant(file), "") << "input " << input << " of seed " << Seed();
  }
  std::cout << "random inputs tried: " << NumMutations() << ", seed " << Seed()
            << ", accepted: " << accepted << std::endl;
  // Where nearly all is refused at the first look, the rest is not tried.
  EXPECT_GT(accepted, NumMutations() / 50);
}

// A tenth as many: each is two files.
TEST(GgufMutationTest, RandomChangesOfAShardAreRefusedOrSound) {
  const std::vector<std::string> shards = SampleShards();
  ScratchFile first;
  ScratchFile second;
  const fs::path folder = fs::path(testing::TempDir()) / "mutated_shards";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const std::string names[] = {folder / "m-00001-of-00002.gguf", folder / "m-00002-of-00002.gguf"};
  fs::create_symlink(first.path(), names[0]);
  fs::create_symlink(second.path(), names[1]);
  const std::vector<GgufMutator> mutators(shards.begin(), shards.end());
  first.Set(shards[0]);
  second.Set(shards[1]);
  ASSERT_TRUE(GgufFile::Open(names[1]).ok());
  const uint64_t inputs = NumMutations() / 10;
  uint64_t accepted = 0;
  for (uint64_t input = 0; input < inputs; ++input) {
    std::mt19937_64 random = RandomOf(input);
    const bool of_first = random() % 2 == 0;
    ScratchFile& changed = of_first ? first : second;
    changed.Set(mutators[of_first ? 0 : 1].Mutate(random));
    const auto file = GgufFile::Open(names[random() % 2]);
    accepted += file.ok() ? 1 : 0;
    ASSERT_EQ(BrokenInvariant(file), "") << "input " << input << " of seed " << Seed();
    changed.Set(shards[of_first ? 0 : 1]);
  }
  std::cout << "changed shards tried: " << inputs << ", accepted: " << accepted << std::endl;
  EXPECT_GT(accepted, inputs / 50);
}

}  // namespace
}  // namespace strata
