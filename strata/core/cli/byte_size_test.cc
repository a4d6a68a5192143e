#include "strata/core/cli/byte_size.h"

#include <cstdint>

#include "gtest/gtest.h"
#include "strata/core/error.h"

namespace strata {
namespace {

int64_t Parsed(absl::string_view text) {
  const absl::StatusOr<int64_t> bytes = ParseByteSize(text);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return bytes.value_or(-1);
}

TEST(ByteSizeTest, ReadsUnitsOf1024And1000) {
  EXPECT_EQ(Parsed("4096"), 4096);
  EXPECT_EQ(Parsed("12GiB"), 12884901888);
  EXPECT_EQ(Parsed("12 gib"), 12884901888);
  EXPECT_EQ(Parsed("1.5GB"), 1500000000);
  EXPECT_EQ(Parsed("12G"), 12884901888);
  EXPECT_EQ(Parsed("1.5m"), 1572864);
  EXPECT_EQ(Parsed("0"), 0);
  EXPECT_EQ(Parsed("9223372036854775807"), INT64_MAX);
}

TEST(ByteSizeTest, RefusesWhatIsNoSize) {
  for (absl::string_view text :
       {"", "GiB", "-1", "1XB", "12GiBs", "1.2.3GB", ".", "1e9", "0x10", "9223372036854775808",
        "9000000TiB", "99999999999.0TiB", "nan", "inf"}) {
    const absl::StatusOr<int64_t> bytes = ParseByteSize(text);
    EXPECT_EQ(ExitCodeOf(bytes.status()), ExitCode::kCommandLine) << text;
  }
}

TEST(ByteSizeTest, PrintsThreeDigitsThatMatter) {
  EXPECT_EQ(FormatByteSize(0), "0 B");
  EXPECT_EQ(FormatByteSize(1023), "1023 B");
  EXPECT_EQ(FormatByteSize(1024), "1.00 KiB");
  EXPECT_EQ(FormatByteSize(1510400), "1.44 MiB");
  EXPECT_EQ(FormatByteSize(1023 * 1024), "1.00 MiB");
  EXPECT_EQ(FormatByteSize(35490000000), "33.1 GiB");
  EXPECT_EQ(FormatByteSize(INT64_MAX), "8.00 EiB");
}

}  // namespace
}  // namespace strata
