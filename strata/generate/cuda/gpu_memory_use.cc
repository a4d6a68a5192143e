#include "strata/generate/cuda/gpu_memory_use.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

namespace strata {
namespace {

int64_t MebibytesOf(int64_t bytes) { return (bytes + (1 << 19)) >> 20; }

}  // namespace

std::string GpuMemoryUse::Describe() const {
  const int64_t own = MebibytesOf(weights) + MebibytesOf(kv) + MebibytesOf(workspace) +
                      MebibytesOf(slots) + MebibytesOf(free);
  const int64_t all = MebibytesOf(total);
  return absl::StrCat("GPU memory in MiB: ", MebibytesOf(weights), " weights + ", MebibytesOf(kv),
                      " keys and values + ", MebibytesOf(workspace), " workspace + ",
                      MebibytesOf(slots), " slots for experts + ", all - own, " others + ",
                      MebibytesOf(free), " free = ", all);
}

}  // namespace strata
