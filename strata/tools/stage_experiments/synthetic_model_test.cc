#include "strata/tools/stage_experiments/synthetic_model.h"

#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "strata/core/error.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/model_config.h"

namespace strata::stagebench {
namespace {

TEST(SyntheticModelTest, ReadsShapes) {
  const SyntheticShape shape = ParseSyntheticShape("48x128x1.5MiB").value();
  EXPECT_EQ(shape.layers, 48);
  EXPECT_EQ(shape.experts, 128);
  EXPECT_EQ(shape.blob_bytes, 1536 * 1024);
  EXPECT_EQ(ParseSyntheticShape("1x1x1").value().blob_bytes, 384);
}

TEST(SyntheticModelTest, RefusesWhatIsNoShape) {
  for (const char* text : {"", "48", "48x128", "0x1x1", "1x0x1", "1x1x0", "-1x1x1", "1x1xbig",
                           "65536x65536x1GiB", "99999999999x1x1", "1x1x1x1"}) {
    EXPECT_EQ(ExitCodeOf(ParseSyntheticShape(text).status()), ExitCode::kCommandLine) << text;
  }
}

TEST(SyntheticModelTest, WritesAModelWithExpertsOfThatSize) {
  const std::string path = testing::TempDir() + "/synthetic.gguf";
  const SyntheticShape shape{.layers = 3, .experts = 5, .blob_bytes = 384 * 20};
  ASSERT_EQ(WriteSyntheticModel(shape, path), absl::OkStatus());
  EXPECT_EQ(std::filesystem::file_size(path), SyntheticModelBytes(shape));
  const std::unique_ptr<GgufFile> file = GgufFile::Open(path).value();
  const ModelConfig config = ModelConfig::Create(*file).value();
  const absl::StatusOr<ExpertLayout> layout = ExpertLayout::Create(*file, config);
  ASSERT_TRUE(layout.ok()) << layout.status();
  EXPECT_EQ(layout->layers().size(), 3u);
  EXPECT_EQ(layout->num_experts(), 5);
  EXPECT_EQ(layout->ExpertBytes(2), shape.blob_bytes);
  std::filesystem::remove(path);
}

TEST(SyntheticModelTest, AFolderThatIsNotThereIsTheMachinesFault) {
  const absl::Status status =
      WriteSyntheticModel({.layers = 1, .experts = 1, .blob_bytes = 384}, "/no/such/folder/x.gguf");
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kMachine) << status;
}

}  // namespace
}  // namespace strata::stagebench
