#include "strata/generate/loading/warm_up.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/core/block_type.h"
#include "strata/core/file_descriptor.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_tensor.h"
#include "strata/core/gguf/gguf_writer.h"

namespace strata {
namespace {

constexpr int64_t kTensorFloats = 4 << 20;
// Around a fault the system maps what it has of the file's pages, up to a huge page of them.
constexpr int64_t kFaultAround = 4 << 20;

// How many of the pages that `bytes` lie in this process has read through its mapping.
int64_t NumPagesMapped(absl::Span<const std::byte> bytes) {
  const int64_t page = sysconf(_SC_PAGESIZE);
  const FileDescriptor map(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  EXPECT_GE(map.get(), 0);
  int64_t num_mapped = 0;
  const auto begin = static_cast<int64_t>(reinterpret_cast<uintptr_t>(bytes.data())) / page;
  for (int64_t i = 0; i < static_cast<int64_t>(bytes.size()) / page; ++i) {
    uint64_t entry = 0;
    EXPECT_EQ(pread(map.get(), &entry, sizeof entry, (begin + i) * int64_t{sizeof entry}),
              ssize_t{sizeof entry});
    num_mapped += static_cast<int64_t>(entry >> 63);
  }
  return num_mapped;
}

TEST(WarmUpTest, ReadsAllButTablesOfRows) {
  const std::string path = testing::TempDir() + "/warm_up.gguf";
  GgufWriter writer;
  for (const char* name : {"token_embd.weight", "per_layer_token_embd.weight", "output.weight"}) {
    writer.Tensor(name, BlockType::kF32, {kTensorFloats});
  }
  writer.WriteTo(path);
  const absl::StatusOr<std::unique_ptr<GgufFile>> file = GgufFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  WarmUp(**file);
  const auto mapped = [&](const char* name) {
    const absl::Span<const std::byte> bytes = (*file)->Data(*(*file)->FindTensor(name));
    return NumPagesMapped(bytes.subspan(kFaultAround, bytes.size() - 2 * kFaultAround));
  };
  EXPECT_EQ(mapped("token_embd.weight"), (kTensorFloats * 4 - 2 * kFaultAround) / 4096);
  EXPECT_EQ(mapped("per_layer_token_embd.weight"), 0);
  EXPECT_EQ(mapped("output.weight"), (kTensorFloats * 4 - 2 * kFaultAround) / 4096);
}

}  // namespace
}  // namespace strata
