#include "strata/cache/experts/expert_files.h"

#include <cstring>
#include <memory>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/testing/test_experts.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/model_config.h"

namespace strata {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ExpertFilesTest, HasEveryExpertOfAModelAndItsBytes) {
  const auto file = std::move(GgufFile::Open("testdata/strata-tiny-q4_k_m.gguf")).value();
  const ModelConfig config = std::move(ModelConfig::Create(*file)).value();
  const ExpertLayout layout = std::move(ExpertLayout::Create(*file, config)).value();
  const ExpertFiles experts(*file, layout);
  ASSERT_EQ(experts.ids().size(), layout.layers().size() * layout.num_experts());
  for (const ExpertId id : experts.ids()) {
    EXPECT_EQ(experts.BlobBytes(id), layout.BlobBytes(id.layer));
    EXPECT_LE(experts.BlobBytes(id), experts.max_blob_bytes());
  }
  const ExpertId last = experts.ids().back();
  const ExpertSlice& slice = experts.Slices(last)[1];
  EXPECT_EQ(experts.Mapped(slice).data(),
            file->shards()[slice.shard]->mapping().bytes().data() + slice.file_offset);
  EXPECT_TRUE(experts.CheckUnchanged().ok());
}

TEST(ExpertFilesTest, NamesAnExpertAndTheShardOfASlice) {
  const TestExperts experts;
  const ExpertId id = {.layer = 1, .index = 3};
  EXPECT_EQ(ExpertFiles::Describe(id), "layer 1, expert 3");
  EXPECT_THAT(experts.files().Describe(id, experts.files().Slices(id)[2]),
              StartsWith("layer 1, expert 3, down in shard 1 (/"));
  EXPECT_THAT(experts.files().DescribeSlices(id), HasSubstr("), up in shard 0 ("));
}

}  // namespace
}  // namespace strata
