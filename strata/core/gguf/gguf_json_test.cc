#include "strata/core/gguf/gguf_json.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "strata/core/block_type.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_sample_files.h"
#include "strata/core/gguf/gguf_value.h"
#include "strata/core/gguf/gguf_writer.h"
#include "strata/core/gguf/model_config.h"
#include "strata/core/gguf/model_test_file.h"

namespace strata {
namespace {

std::string Dumped(GgufType type, const GgufBytes& bytes, const GgufJsonOptions& options = {}) {
  const GgufValue value(type, reinterpret_cast<const std::byte*>(bytes.bytes().data()));
  return ValueJson(value, options).dump();
}

TEST(GgufJsonTest, ValuesThatJsonLacksAreSpelledOut) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Dumped(GgufType::kF64, GgufBytes().Number(kInfinity)), "\"inf\"");
  EXPECT_EQ(Dumped(GgufType::kF64, GgufBytes().Number(-kInfinity)), "\"-inf\"");
  EXPECT_EQ(Dumped(GgufType::kF64, GgufBytes().Number(-0.0)), "-0.0");
  EXPECT_EQ(Dumped(GgufType::kU64, GgufBytes().Number(~uint64_t{0})), "18446744073709551615");
  EXPECT_EQ(Dumped(GgufType::kString, GgufBytes().String("a\xff")), "{\"bytes_hex\":\"61ff\"}");
}

TEST(GgufJsonTest, ALongArrayIsCutAndItsCountStaysTrue) {
  GgufBytes array;
  array.Type(GgufType::kU8).Number(uint64_t{3}).Raw("\1\2\3");
  EXPECT_EQ(Dumped(GgufType::kArray, array, {.max_items = 2}),
            "{\"of\":\"u8\",\"count\":3,\"items\":[1,2]}");
  EXPECT_EQ(Dumped(GgufType::kArray, array), "{\"of\":\"u8\",\"count\":3,\"items\":[1,2,3]}");
}

TEST(GgufJsonTest, ATensorHasAHashOnlyWhenAsked) {
  const auto file = OpenWritten(GgufWriter().Tensor("t", BlockType::kF32, {1}));
  EXPECT_FALSE(FileJson(*file, {})["tensors"][0].contains("sha256"));
  GgufJsonOptions options;
  options.sha256 = [](const GgufTensor& tensor) { return "hash of " + std::string(tensor.name); };
  EXPECT_EQ(FileJson(*file, options)["tensors"][0]["sha256"], "hash of t");
}

TEST(GgufJsonTest, BlobsAreSummedOverExpertsAndLayers) {
  GgufWriter writer = MoeKeys(2, 2);
  AddMoeBlock(0, 2, "merged", writer);
  AddMoeBlock(1, 2, "fused", writer);
  const auto file = OpenWritten(writer);
  const auto config = ModelConfig::Create(*file);
  ASSERT_TRUE(config.ok()) << config.status();
  const auto layout = ExpertLayout::Create(*file, *config);
  ASSERT_TRUE(layout.ok()) << layout.status();
  const nlohmann::ordered_json json = MoeJson(*layout);
  EXPECT_EQ(json["layout"], "mixed");
  EXPECT_EQ(json["blob_bytes"].dump(), "{\"min\":768,\"max\":768,\"total\":3072}");
}

TEST(GgufJsonTest, ADenseModelHasNoMoe) { EXPECT_TRUE(MoeJson(ExpertLayout()).is_null()); }

}  // namespace
}  // namespace strata
