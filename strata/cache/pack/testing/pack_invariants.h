// What must hold of whatever the readers of packs accept. Each function says what is broken; empty
// when nothing is.
#ifndef STRATA_CACHE_PACK_TESTING_PACK_INVARIANTS_H_
#define STRATA_CACHE_PACK_TESTING_PACK_INVARIANTS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/core/gguf/scratch_file.h"

namespace strata {

// Any bytes as a manifest: refused with a documented kind, or sound and its own text again.
std::string BrokenManifest(absl::string_view text);

// Any bytes as what an unfinished build has done.
std::string BrokenCheckpoint(absl::Span<const std::byte> bytes);

// The pack in a folder, whose experts.bin becomes a link to a file in memory: one on a disk would be
// waited for after every input. Used by one thread.
class ScratchPack {
 public:
  explicit ScratchPack(const std::string& folder);

  // Its experts.bin as it was built.
  const std::string& experts() const { return experts_; }
  // Any bytes as its experts.bin: refused, or each difference is found.
  std::string BrokenExperts(absl::string_view bytes);

 private:
  const std::string folder_, experts_;
  ScratchFile file_;
  std::vector<std::byte> buffer_;
};

}  // namespace strata

#endif  // STRATA_CACHE_PACK_TESTING_PACK_INVARIANTS_H_
