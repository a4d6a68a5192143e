// Instruction sets that the CPU kernels are written for. The results have the same bits on each;
// only the time differs. One program holds the code of all and chooses while it runs.
#ifndef STRATA_GENERATE_KERNELS_ISA_H_
#define STRATA_GENERATE_KERNELS_ISA_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace strata {

enum class Isa {
  kScalar,  // Whatever the compiler makes of plain C++ for any machine.
  kAvx2,    // With FMA and F16C.
  kAvx512,  // F, BW, DQ, VL and VNNI; a machine with AVX-512 but without VNNI counts as kAvx2.
};

// All, ascending.
absl::Span<const Isa> AllIsas();

// "scalar", "avx2", "avx512".
absl::string_view NameOf(Isa isa);

bool IsSupported(Isa isa);

// The last of AllIsas that the machine has.
Isa BestIsa();

// What a flag --isa asks for: a name, or "auto" for the best. An unknown name is a usage error, a
// set that the machine lacks a machine error.
absl::StatusOr<Isa> ParseIsa(absl::string_view text);

// The set in use: the best, until another is set. Thread-safe; a kernel under way ends with the set
// that it began with.
Isa CurrentIsa();
// `isa` is supported.
void SetIsa(Isa isa);

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_ISA_H_
