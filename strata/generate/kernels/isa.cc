#include "strata/generate/kernels/isa.h"

#include <atomic>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/core/error.h"

namespace strata {
namespace {

constexpr Isa kAll[] = {Isa::kScalar, Isa::kAvx2, Isa::kAvx512};

std::atomic<Isa>& Current() {
  static std::atomic<Isa> current(BestIsa());
  return current;
}

}  // namespace

absl::Span<const Isa> AllIsas() { return kAll; }

absl::string_view NameOf(Isa isa) {
  switch (isa) {
    case Isa::kScalar:
      return "scalar";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
  }
  LOG(FATAL) << "no such instruction set: " << static_cast<int>(isa);
}

bool IsSupported(Isa isa) {
#if defined(__x86_64__)
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("f16c");
  switch (isa) {
    case Isa::kScalar:
      return true;
    case Isa::kAvx2:
      return has_avx2;
    case Isa::kAvx512:
      return has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512vnni");
  }
#endif
  return isa == Isa::kScalar;
}

Isa BestIsa() {
  Isa best = Isa::kScalar;
  for (Isa isa : kAll) {
    if (IsSupported(isa)) best = isa;
  }
  return best;
}

absl::StatusOr<Isa> ParseIsa(absl::string_view text) {
  if (text == "auto") return BestIsa();
  for (Isa isa : kAll) {
    if (text != NameOf(isa)) continue;
    if (IsSupported(isa)) return isa;
    return MachineError(absl::StrCat("this machine does not have ", text, ", only ",
                                     NameOf(BestIsa()), " and less"));
  }
  return UsageError(
      absl::StrCat("no instruction set \"", text, "\"; known: auto, scalar, avx2, avx512"));
}

Isa CurrentIsa() { return Current().load(std::memory_order_relaxed); }

void SetIsa(Isa isa) {
  CHECK(IsSupported(isa)) << NameOf(isa);
  Current().store(isa, std::memory_order_relaxed);
}

}  // namespace strata
