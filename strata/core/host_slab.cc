#include "strata/core/host_slab.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "strata/core/error.h"

namespace strata {
namespace {

constexpr int64_t kHugePageBytes = int64_t{2} << 20;

int64_t RoundUp(int64_t bytes, int64_t unit) { return (bytes + unit - 1) / unit * unit; }

void TouchPages(absl::Span<std::byte> bytes, int64_t page_bytes) {
  for (size_t i = 0; i < bytes.size(); i += page_bytes) {
    *const_cast<volatile std::byte*>(&bytes[i]) = std::byte{0};
  }
}

}  // namespace

HostSlab::~HostSlab() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

absl::StatusOr<HostSlab> HostSlab::Map(int64_t bytes, bool huge_pages) {
  const int64_t wanted = RoundUp(bytes, sysconf(_SC_PAGESIZE));
  const int64_t mapped = wanted + kHugePageBytes;
  void* const start =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) {
    return MachineError(
        absl::StrCat("mmap of ", mapped, " bytes of host memory: ", std::strerror(errno)));
  }
  // Keep the part that starts at a huge page.
  std::byte* const first = static_cast<std::byte*>(start);
  const int64_t before = RoundUp(reinterpret_cast<intptr_t>(first), kHugePageBytes) -
                         reinterpret_cast<intptr_t>(first);
  if (before > 0) munmap(first, before);
  if (before < kHugePageBytes) munmap(first + before + wanted, kHugePageBytes - before);
  HostSlab slab(absl::MakeSpan(first + before, wanted));
  // Where huge pages are switched off the kernel says so, and small ones do.
  madvise(slab.bytes_.data(), wanted, huge_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  return slab;
}

void HostSlab::Touch(int num_threads) const {
  const int64_t page_bytes = sysconf(_SC_PAGESIZE);
  const int64_t size = static_cast<int64_t>(bytes_.size());
  // Threads share no huge page, and a small slab is not worth more than one of them.
  const int64_t part = RoundUp((size + num_threads - 1) / num_threads, kHugePageBytes);
  std::vector<std::thread> threads;
  // Also when one of them cannot be started.
  const absl::Cleanup join = [&threads] {
    for (std::thread& thread : threads) thread.join();
  };
  for (int64_t start = part; start < size; start += part) {
    threads.emplace_back(TouchPages, bytes_.subspan(start, part), page_bytes);
  }
  TouchPages(bytes_.subspan(0, part), page_bytes);
}

}  // namespace strata
