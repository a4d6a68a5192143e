// Whole models: the small one in testdata, and where STRATA_TEST_DATA names a folder with them, one
// of each architecture.

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/block_type.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/model_config.h"
#include "strata/core/gguf/parameter_count.h"
#include "tools/cpp/runfiles/runfiles.h"

namespace strata {
namespace {

namespace fs = std::filesystem;
using bazel::tools::cpp::runfiles::Runfiles;
using testing::ElementsAre;

TEST(GgufModelsTest, DescribesTheTinyModel) {
  std::string error;
  const std::unique_ptr<Runfiles> runfiles(Runfiles::CreateForTest(&error));
  ASSERT_NE(runfiles, nullptr) << error;
  const auto file = GgufFile::Open(runfiles->Rlocation("strata/testdata/strata-tiny-q4_k_m.gguf"));
  ASSERT_TRUE(file.ok()) << file.status();
  const absl::StatusOr<ModelConfig> config = ModelConfig::Create(**file);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->name, "strata-tiny");
  EXPECT_EQ(config->block_count, 5);
  EXPECT_EQ(config->trunk_layers(), 4);
  EXPECT_EQ(config->attention.key_length, 64);
  EXPECT_EQ(config->rope.freq_base, 1e6);
  EXPECT_EQ(config->vocab_size, 8192);
  EXPECT_TRUE(config->experts.weights_norm);

  const absl::StatusOr<ExpertLayout> layout = ExpertLayout::Create(**file, *config);
  ASSERT_TRUE(layout.ok()) << layout.status();
  EXPECT_THAT(layout->layers(), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(layout->num_experts(), 16);
  EXPECT_EQ(layout->num_used(), 2);
  EXPECT_EQ(layout->num_nextn_blocks(), 1);
  EXPECT_EQ(layout->Slices({0, 15})[0].type, BlockType::kQ4_K);
  EXPECT_EQ(layout->Slices({0, 15})[0].bytes, 256 * 144);

  // By hand: 16 - 2 of 16 experts of 3 matrices of 256 x 256 do not run, in each of 4 layers.
  const ParameterCount count = CountParameters(**file, *config, *layout);
  EXPECT_EQ(count.total - count.nextn - count.active, 4 * 14 * 3 * 256 * 256);
}

TEST(GgufModelsTest, DescribesAModelOfEachArchitecture) {
  const char* const folder = std::getenv("STRATA_TEST_DATA");
  if (folder == nullptr || !fs::exists(fs::path(folder) / "oracles/arch")) {
    GTEST_SKIP() << "STRATA_TEST_DATA names no folder with oracles/arch";
  }
  int models = 0;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(fs::path(folder) / "oracles/arch")) {
    if (!absl::EndsWith(entry.path().string(), ".gguf")) continue;
    SCOPED_TRACE(entry.path());
    const auto file = GgufFile::Open(entry.path());
    ASSERT_TRUE(file.ok()) << file.status();
    const absl::StatusOr<ModelConfig> config = ModelConfig::Create(**file);
    ASSERT_TRUE(config.ok()) << config.status();
    const absl::StatusOr<ExpertLayout> layout = ExpertLayout::Create(**file, *config);
    ASSERT_TRUE(layout.ok()) << layout.status();
    EXPECT_EQ(layout->num_experts(), 8);
    EXPECT_EQ(static_cast<int64_t>(layout->layers().size()),
              config->trunk_layers() - config->experts.leading_dense_block_count);
    ++models;
  }
  EXPECT_EQ(models, 10);
}

}  // namespace
}  // namespace strata
