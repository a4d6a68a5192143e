#include "strata/core/gguf/gguf_header.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/block_type.h"
#include "strata/core/error.h"
#include "strata/core/gguf/gguf_tensor.h"
#include "strata/core/gguf/gguf_value.h"
#include "strata/core/gguf/gguf_writer.h"

namespace strata {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

absl::StatusOr<std::unique_ptr<GgufHeader>> Parse(const std::string& file) {
  const auto bytes =
      absl::MakeConstSpan(reinterpret_cast<const std::byte*>(file.data()), file.size());
  const absl::StatusOr<int64_t> header_bytes = GgufHeader::MeasureHeader(bytes);
  if (!header_bytes.ok()) return header_bytes.status();
  return GgufHeader::Parse(std::vector<std::byte>(bytes.begin(), bytes.begin() + *header_bytes),
                           static_cast<int64_t>(bytes.size()));
}

std::string Kind(const std::string& file) { return ErrorKind(Parse(file).status()); }

// Arrays of one array each, `depth` in all, around an empty array of u8.
GgufBytes NestedArrays(int depth) {
  GgufBytes bytes;
  for (int i = 1; i < depth; ++i) bytes.Type(GgufType::kArray).Number(uint64_t{1});
  return bytes.Type(GgufType::kU8).Number(uint64_t{0});
}

TEST(GgufHeaderTest, ReadsKeysInFileOrderAndFindsThemByName) {
  const auto header = Parse(GgufWriter().Key("b", uint32_t{1}).Key("a", "text").Build());
  ASSERT_TRUE(header.ok()) << header.status();
  ASSERT_EQ((*header)->keys().size(), 2u);
  EXPECT_EQ((*header)->keys()[0].key, "b");
  EXPECT_EQ(*(*header)->Find("a")->AsString(), "text");
  EXPECT_EQ((*header)->Find("c"), nullptr);
}

TEST(GgufHeaderTest, PlacesTensorsFromTheAlignedEndOfTheHeader) {
  const std::string file = GgufWriter()
                               .set_alignment(128)
                               .Tensor("a", BlockType::kI8, {3})
                               .Tensor("b", BlockType::kQ8_0, {64, 2})
                               .Build();
  const auto header = Parse(file);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ((*header)->data_offset(), 256);
  const std::vector<GgufTensor> tensors = (*header)->TakeTensors();
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[1].name, "b");
  EXPECT_EQ(tensors[1].type, BlockType::kQ8_0);
  EXPECT_THAT(tensors[1].dims(), ElementsAre(64, 2));
  EXPECT_EQ(tensors[1].offset, 128);
  EXPECT_EQ(tensors[1].file_offset, 384);
  EXPECT_EQ(tensors[1].bytes, 2 * 2 * 34);
}

TEST(GgufHeaderTest, ATensorOfNoDimensionsIsOneNumber) {
  const auto header = Parse(GgufWriter().Tensor("a", BlockType::kF32, {}).Build());
  ASSERT_TRUE(header.ok()) << header.status();
  const std::vector<GgufTensor> tensors = (*header)->TakeTensors();
  EXPECT_EQ(tensors[0].num_elements(), 1);
  EXPECT_EQ(tensors[0].bytes, 4);
}

TEST(GgufHeaderTest, ArraysMayBeNestedAsDeepAsDocumented) {
  const auto file = [](int depth) {
    return GgufWriter().Key("deep", GgufType::kArray, NestedArrays(depth)).Build();
  };
  EXPECT_EQ(Kind(file(16)), "");
  EXPECT_EQ(Kind(file(17)), "nesting_too_deep");
}

TEST(GgufHeaderTest, KeysAreUtf8AndAtMost65535Bytes) {
  EXPECT_EQ(Kind(GgufWriter().Key(std::string(65535, 'k'), uint32_t{1}).Build()), "");
  EXPECT_EQ(Kind(GgufWriter().Key(std::string(65536, 'k'), uint32_t{1}).Build()), "bad_key");
  EXPECT_EQ(Kind(GgufWriter().Key("caf\xc3\xa9", uint32_t{1}).Build()), "") << "UTF-8";
  EXPECT_EQ(Kind(GgufWriter().Key("caf\xe9", uint32_t{1}).Build()), "bad_key");
}

TEST(GgufHeaderTest, TensorNamesAreUtf8AndAtMost64Bytes) {
  const auto file = [](absl::string_view name) {
    return GgufWriter().Tensor(name, BlockType::kF32, {1}).Build();
  };
  EXPECT_EQ(Kind(file(std::string(64, 'n'))), "");
  EXPECT_EQ(Kind(file(std::string(65, 'n'))), "bad_name");
  EXPECT_EQ(Kind(file("\xff")), "bad_name");
  EXPECT_EQ(Kind(file("")), "bad_name");
}

TEST(GgufHeaderTest, BoolsAreZeroOrOneInArraysToo) {
  const auto file = [](uint8_t last) {
    GgufBytes bools;
    bools.Type(GgufType::kBool).Number(uint64_t{2}).Number(uint8_t{1}).Number(last);
    return GgufWriter().Key("bools", GgufType::kArray, bools).Build();
  };
  EXPECT_EQ(Kind(file(0)), "");
  EXPECT_EQ(Kind(file(2)), "bad_bool");
  EXPECT_EQ(Kind(GgufWriter().Key("b", GgufType::kBool, GgufBytes().Number(uint8_t{255})).Build()),
            "bad_bool");
}

TEST(GgufHeaderTest, AMessageNamesTheRecord) {
  GgufBytes array;
  array.Type(GgufType::kU32).Number(uint64_t{1} << 40);
  const auto header =
      Parse(GgufWriter().Key("a", "x").Key("long", GgufType::kArray, array).Build());
  EXPECT_EQ(ErrorKind(header.status()), "array_too_long");
  EXPECT_THAT(header.status().message(), HasSubstr("key 2 of 2: key 'long'"));
}

TEST(GgufHeaderTest, AFileThatChangedBetweenTheTwoReadsIsCheckedAgain) {
  const std::string sound = GgufWriter().Tensor("a", BlockType::kF32, {1}).Build();
  std::string header = GgufWriter().Tensor("a", BlockType::kF32, {1}).BuildHeader();
  const auto parse = [&](int64_t file_bytes) {
    const auto* bytes = reinterpret_cast<const std::byte*>(header.data());
    return GgufHeader::Parse(std::vector<std::byte>(bytes, bytes + header.size()), file_bytes);
  };
  EXPECT_TRUE(parse(static_cast<int64_t>(sound.size())).ok());
  EXPECT_EQ(ErrorKind(parse(static_cast<int64_t>(sound.size()) - 1).status()), "out_of_file");
  header[8] = 2;  // Two tensors, where one is left.
  EXPECT_FALSE(parse(static_cast<int64_t>(sound.size())).ok());
}

}  // namespace
}  // namespace strata
