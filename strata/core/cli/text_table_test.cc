#include "strata/core/cli/text_table.h"

#include "gtest/gtest.h"

namespace strata {
namespace {

TEST(TextTableTest, AlignsTextLeftAndNumbersRight) {
  TextTable table("lrl");
  table.AddRow({"name", "bytes", "type"});
  table.AddRow({"blk.0.é", "12", ""});
  table.AddRow({"x", "1024", "Q4_K"});
  EXPECT_EQ(table.ToString(2),
            "  name     bytes  type\n"
            "  blk.0.é     12\n"
            "  x         1024  Q4_K\n");
}

}  // namespace
}  // namespace strata
