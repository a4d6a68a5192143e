#include "strata/generate/placement/footprint.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "strata/core/block_type.h"
#include "strata/core/cli/runfiles.h"
#include "strata/core/gguf/gguf_tensor.h"
#include "strata/generate/cpu/cpu_engine.h"
#include "strata/generate/engine/kv_type.h"
#include "strata/generate/engine/sequence.h"
#include "strata/generate/testing/open_model.h"
#include "strata/generate/testing/random_model.h"
#include "strata/generate/testing/random_streams.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {
namespace {

std::vector<std::string> Models() {
  std::vector<std::string> paths = {Runfile("testdata/strata-tiny-q4_k_m.gguf").value()};
  for (const char* name : {"deepseek2", "gemma4", "glm4moe", "gpt-oss", "granitemoe", "lfm2moe",
                           "llama", "olmoe", "qwen3moe", "qwen3next", "qwen35moe"}) {
    paths.push_back(Runfile(absl::StrCat("testdata/oracles/arch/", name, ".gguf")).value());
  }
  paths.push_back(RandomStreams({.type = BlockType::kQ4_K}).Write("streams"));
  return paths;
}

TEST(FootprintTest, IsWhatTheEngineThenAllocates) {
  for (const std::string& path : Models()) {
    SCOPED_TRACE(path);
    const OpenModel model(path);
    for (const KvType kv_type : {KvType::kF32, KvType::kF16, KvType::kInt8}) {
      for (const int64_t batch : {1, 7, 32}) {
        const Footprint footprint = FootprintOf(
            *model.file, model.graph, {.context = 64, .kv_type = kv_type, .prompt_batch = batch});
        CpuEngine engine(*model.file, model.graph, {.kv_type = kv_type, .max_context = 64});
        Sequence sequence(engine);
        while (sequence.position() + batch <= 64) {
          const std::vector<TokenId> tokens(static_cast<size_t>(batch), 5);
          ASSERT_TRUE(sequence.Feed(tokens, {.logits = Sequence::Want::kLast}).ok());
        }
        EXPECT_EQ(engine.kv_bytes(), footprint.kv_bytes);
        EXPECT_EQ(engine.recurrent_bytes(), footprint.recurrent_bytes);
        EXPECT_NEAR(static_cast<double>(engine.workspace_bytes()),
                    static_cast<double>(footprint.workspace_bytes),
                    0.05 * static_cast<double>(footprint.workspace_bytes))
            << "batches of " << batch;
      }
    }
  }
}

TEST(FootprintTest, SnapshotsFillTheirBound) {
  const OpenModel model(Runfile("testdata/oracles/arch/qwen3next.gguf").value());
  constexpr int64_t kBound = 300000;
  const Footprint footprint =
      FootprintOf(*model.file, model.graph, {.context = 2048, .snapshot_bytes = kBound});
  EXPECT_LE(footprint.snapshot_bytes, kBound);
  EXPECT_GT(footprint.snapshot_bytes, kBound * 8 / 10);
  CpuEngine engine(*model.file, model.graph, {.snapshot_bytes = kBound});
  Sequence sequence(engine);
  ASSERT_TRUE(sequence.Feed(std::vector<TokenId>(2048, 5), {}).ok());
  EXPECT_EQ(engine.snapshot_bytes(), footprint.snapshot_bytes);
}

TEST(FootprintTest, CountsWhatIsNoRoutedExpertOnce) {
  const OpenModel model(Runfile("testdata/strata-tiny-q4_k_m.gguf").value());
  const Footprint footprint =
      FootprintOf(*model.file, model.graph, {.context = 10, .prompt_batch = 1});
  // The tied embedding, four layers' attention and router, and norms; the NextN block is left out.
  int64_t expected = 0;
  for (const GgufTensor& tensor : model.file->tensors()) {
    const std::string name(tensor.name);
    const bool is_expert = name.find("_exps.") != std::string::npos;
    if (!is_expert && name.rfind("blk.4.", 0) != 0) expected += tensor.bytes;
  }
  EXPECT_EQ(footprint.dense_bytes, expected);
  EXPECT_LT(footprint.dense_read_bytes, footprint.dense_bytes);
  EXPECT_GT(footprint.dense_read_bytes, footprint.dense_bytes * 9 / 10);
}

TEST(FootprintTest, ATableStaysInTheFile) {
  const OpenModel model(RandomStreams().Write("table"));
  const Footprint footprint =
      FootprintOf(*model.file, model.graph, {.context = 4096, .prompt_batch = 1});
  const GgufTensor& table = *model.file->FindTensor("per_layer_token_embd.weight");
  EXPECT_EQ(footprint.table_bytes, table.bytes);
  EXPECT_EQ(footprint.table_read_bytes % 4, 0);
  int64_t others = 0;
  for (const GgufTensor& tensor : model.file->tensors()) {
    const bool is_expert = tensor.name.find("_exps.") != absl::string_view::npos;
    if (!is_expert && &tensor != &table) others += tensor.bytes;
  }
  EXPECT_EQ(footprint.dense_bytes, others);
}

// 4 blocks of 4 positions, what follows the last block, and the index.
TEST(FootprintTest, OfBlocksThatAreNotKeptTheIndexAloneIsRead) {
  const OpenModel model(RandomStreams().Write("blocks"));
  const auto read = [&](int64_t context) {
    return FootprintOf(*model.file, model.graph, {.context = context}).kv_read_bytes;
  };
  EXPECT_EQ(read(8192) - read(4096), 4096 / 4 * 64 * 4);
}

TEST(FootprintTest, ASlidingWindowIsKeptWholeAndReadInPart) {
  const OpenModel model(Runfile("testdata/oracles/arch/gpt-oss.gguf").value());
  const Footprint footprint =
      FootprintOf(*model.file, model.graph, {.context = 4096, .prompt_batch = 1});
  EXPECT_GT(footprint.kv_bytes, footprint.kv_read_bytes);
}

}  // namespace
}  // namespace strata
