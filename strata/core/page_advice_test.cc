#include "strata/core/page_advice.h"

#include <cerrno>
#include <cstddef>
#include <fstream>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/core/file_mapping.h"

namespace strata {
namespace {

TEST(PageAdviceTest, IsTakenForAnyPartOfAMappingAndChangesNoByte) {
  const std::string path = testing::TempDir() + "/page_advice";
  std::string written;
  for (int i = 0; i < 40000; ++i) written.push_back(static_cast<char>(i * 7));
  std::ofstream(path, std::ios::binary) << written;
  const absl::StatusOr<std::unique_ptr<FileMapping>> mapping = FileMapping::Open(path);
  ASSERT_TRUE(mapping.ok()) << mapping.status();
  const absl::Span<const std::byte> bytes = (*mapping)->bytes();
  errno = 0;
  // From a page's beginning and from inside of one; less than a page; to the end of the file; none.
  for (const auto& part : {bytes, bytes.subspan(4096, 100), bytes.subspan(4095, 2),
                           bytes.subspan(30000), bytes.subspan(7, 0)}) {
    AdviseScatteredReads(part);
    AdviseReadSoon(part);
    EXPECT_EQ(errno, 0);
  }
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), written);
}

}  // namespace
}  // namespace strata
