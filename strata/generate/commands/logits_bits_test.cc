// The bytes of --dump_logits depend neither on threads, nor on the cut of the prompt into batches,
// nor on the instruction set.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "strata/core/block_type.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/cli/run_program.h"
#include "strata/core/cli/runfiles.h"
#include "strata/generate/kernels/isa.h"
#include "strata/generate/testing/random_model.h"
#include "strata/generate/testing/run_generate.h"

namespace strata {
namespace {

std::string PromptIds(int count) {
  std::string ids;
  for (int i = 0; i < count; ++i) ids += std::to_string(i * 37 % 60) + " ";
  return ids;
}

struct Way {
  int threads;
  int batch;
  Isa isa;
};

std::string Dump(const std::string& model, int prompt_size, const Way& way) {
  WriteFile(TestFile("prompt_ids"), PromptIds(prompt_size));
  const std::string path = TestFile("dump");
  const ProgramResult result = RunGenerate(
      {"--model=" + model, "--tokens_file=" + TestFile("prompt_ids"), "--max_new=3", "--ignore_eos",
       "--threads=" + std::to_string(way.threads), "--prompt_batch=" + std::to_string(way.batch),
       "--isa=" + std::string(NameOf(way.isa)), "--dump_logits=" + path});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return ReadFile(path);
}

void ExpectEqualBytes(const std::string& model, int prompt_size) {
  const std::string whole = Dump(model, prompt_size, {1, 1000, Isa::kScalar});
  EXPECT_GT(whole.size(), 4 * prompt_size);
  std::vector<Way> ways = {{2, 7, Isa::kScalar}};
  for (Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    if (!IsSupported(isa)) continue;
    ways.insert(ways.end(), {{2, 1, isa}, {3, 7, isa}, {2, 64, isa}, {1, 1000, isa}});
  }
  for (const Way& way : ways) {
    EXPECT_TRUE(Dump(model, prompt_size, way) == whole)
        << way.threads << " threads, batches of " << way.batch << ", " << NameOf(way.isa);
  }
}

void ExpectEqualBytesOfShared(const std::string& path) {
  const std::optional<std::string> model = SharedFile(path);
  if (!model.has_value()) GTEST_SKIP() << "STRATA_TEST_DATA names no folder with " << path;
  ExpectEqualBytes(*model, 10);
}

TEST(LogitsBitsTest, F32) {
  ExpectEqualBytes(Runfile("testdata/oracles/arch/gpt-oss.gguf").value(), 71);
}

TEST(LogitsBitsTest, Q4KM) {
  ExpectEqualBytes(Runfile("testdata/strata-tiny-q4_k_m.gguf").value(), 71);
}

TEST(LogitsBitsTest, F16) { ExpectEqualBytesOfShared("models/strata-tiny-f16.gguf"); }

TEST(LogitsBitsTest, Q4KMWithEightKindsOfBlobs) {
  ExpectEqualBytesOfShared("models/strata-small-q4_k_m.gguf");
}

TEST(LogitsBitsTest, IQ2XS) {
  ExpectEqualBytes(RandomModel{.type = BlockType::kIQ2_XS}.Write("iq2_xs"), 71);
}

TEST(LogitsDumpTest, HoldsTheIdsOfPromptAndAnswerAndALineOfLogitsForEach) {
  const std::string path = TestFile("layout");
  const Json answer =
      GenerateJson({"--prompt=In the beginning", "--max_new=4", "--dump_logits=" + path});
  const std::string bytes = ReadFile(path);
  std::vector<int32_t> head(2 + 7);
  ASSERT_EQ(bytes.size(), head.size() * 4 + 7 * 8192 * 4);
  std::memcpy(head.data(), bytes.data(), head.size() * 4);
  std::vector<int32_t> expected = {7, 8192};
  for (const char* part : {"prompt_ids", "ids"}) {
    for (const Json& id : answer[part]) expected.push_back(id);
  }
  EXPECT_EQ(head, expected);
  // The answer is greedy: each id has the largest logit of the row before it.
  std::vector<float> rows(7 * 8192);
  std::memcpy(rows.data(), bytes.data() + head.size() * 4, rows.size() * 4);
  for (int i = 3; i < 7; ++i) {
    const auto row = rows.begin() + (i - 1) * 8192;
    EXPECT_EQ(std::max_element(row, row + 8192) - row, expected[2 + i]);
  }
}

}  // namespace
}  // namespace strata
