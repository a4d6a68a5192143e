#include "strata/core/sha256.h"

#include <cstddef>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"

namespace strata {
namespace {

absl::Span<const std::byte> Bytes(absl::string_view text) {
  return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size());
}

TEST(Sha256Test, HashesAsTheStandardSays) {
  EXPECT_EQ(Sha256Hex({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex(Bytes("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256Test, PiecesHashAsTheWhole) {
  Sha256 hash;
  hash.Update(Bytes("a"));
  hash.Update(Bytes("bc"));
  EXPECT_EQ(hash.HexDigest(), Sha256Hex(Bytes("abc")));
}

}  // namespace
}  // namespace strata
