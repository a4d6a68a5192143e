#include "strata/core/page_advice.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

namespace strata {
namespace {

uintptr_t PageBytes() {
  static const auto bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

void Advise(uintptr_t begin, uintptr_t end, int advice) {
  if (begin < end) static_cast<void>(madvise(reinterpret_cast<void*>(begin), end - begin, advice));
}

}  // namespace

void AdviseScatteredReads(absl::Span<const std::byte> bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  const uintptr_t page = PageBytes();
  Advise((begin + page - 1) / page * page, (begin + bytes.size()) / page * page, MADV_RANDOM);
}

void AdviseReadSoon(absl::Span<const std::byte> bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  Advise(begin / PageBytes() * PageBytes(), begin + bytes.size(), MADV_WILLNEED);
}

}  // namespace strata
