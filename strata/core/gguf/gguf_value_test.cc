#include "strata/core/gguf/gguf_value.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/gguf/gguf_writer.h"

namespace strata {
namespace {

using testing::ElementsAre;

GgufValue Value(GgufType type, const GgufBytes& bytes) {
  return GgufValue(type, reinterpret_cast<const std::byte*>(bytes.bytes().data()));
}

TEST(GgufValueTest, AnIntegerComesFromAnyTypeThatHoldsIt) {
  const GgufBytes u8 = GgufBytes().Number(uint8_t{200});
  EXPECT_EQ(Value(GgufType::kU8, u8).AsInt(), 200);
  EXPECT_EQ(Value(GgufType::kU8, u8).AsUint(), 200u);
  const GgufBytes i16 = GgufBytes().Number(int16_t{-7});
  EXPECT_EQ(Value(GgufType::kI16, i16).AsInt(), -7);
  EXPECT_EQ(Value(GgufType::kI16, i16).AsUint(), std::nullopt);
  const GgufBytes u64 = GgufBytes().Number(std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(Value(GgufType::kU64, u64).AsInt(), std::nullopt);
  EXPECT_EQ(Value(GgufType::kU64, u64).AsUint(), std::numeric_limits<uint64_t>::max());
}

TEST(GgufValueTest, AnotherKindOfValueIsNone) {
  const GgufBytes number = GgufBytes().Number(1.0f);
  EXPECT_EQ(Value(GgufType::kF32, number).AsDouble(), 1.0);
  EXPECT_EQ(Value(GgufType::kF32, number).AsInt(), std::nullopt);
  EXPECT_EQ(Value(GgufType::kF32, number).AsString(), std::nullopt);
  const GgufBytes flag = GgufBytes().Number(uint8_t{1});
  EXPECT_EQ(Value(GgufType::kBool, flag).AsBool(), true);
  EXPECT_EQ(Value(GgufType::kBool, flag).AsInt(), std::nullopt);
  EXPECT_EQ(Value(GgufType::kU8, flag).AsDouble(), std::nullopt);
  EXPECT_FALSE(Value(GgufType::kU8, flag).AsArray().has_value());
}

TEST(GgufValueTest, StringsOfAnArrayAreReadInOrder) {
  GgufBytes bytes;
  bytes.Type(GgufType::kString).Number(uint64_t{3}).String("a").String("").String("long");
  const GgufArray array = *Value(GgufType::kArray, bytes).AsArray();
  std::vector<std::string> strings;
  for (const GgufValue element : array) strings.emplace_back(*element.AsString());
  EXPECT_THAT(strings, ElementsAre("a", "", "long"));
  EXPECT_TRUE(array.RawElements().empty());
}

TEST(GgufValueTest, NumbersOfAnArrayCanBeReadAsBytes) {
  GgufBytes bytes;
  bytes.Type(GgufType::kI16).Number(uint64_t{2}).Number(int16_t{1}).Number(int16_t{-1});
  const GgufArray array = *Value(GgufType::kArray, bytes).AsArray();
  EXPECT_EQ(array.size(), 2);
  EXPECT_THAT(array.RawElements(),
              ElementsAre(std::byte{1}, std::byte{0}, std::byte{0xff}, std::byte{0xff}));
}

TEST(GgufValueTest, AnElementAfterANestedArrayIsFound) {
  GgufBytes bytes;
  bytes.Type(GgufType::kArray).Number(uint64_t{2});
  bytes.Type(GgufType::kString).Number(uint64_t{1}).String("inner");
  bytes.Type(GgufType::kU8).Number(uint64_t{1}).Number(uint8_t{9});
  std::vector<GgufArray> inner;
  const GgufArray outer = *Value(GgufType::kArray, bytes).AsArray();
  for (const GgufValue element : outer) {
    inner.push_back(*element.AsArray());
  }
  ASSERT_EQ(inner.size(), 2u);
  EXPECT_EQ(*(*inner[0].begin()).AsString(), "inner");
  EXPECT_EQ((*inner[1].begin()).AsInt(), 9);
}

TEST(GgufValueTest, AnEmptyArrayHasNoElements) {
  GgufBytes bytes;
  bytes.Type(GgufType::kString).Number(uint64_t{0});
  const GgufArray array = *Value(GgufType::kArray, bytes).AsArray();
  EXPECT_TRUE(array.begin() == array.end());
}

}  // namespace
}  // namespace strata
