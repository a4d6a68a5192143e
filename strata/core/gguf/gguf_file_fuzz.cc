// libFuzzer target: any bytes as a GGUF file, and as the model that it describes.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_invariants.h"
#include "strata/core/gguf/scratch_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static strata::ScratchFile* const scratch = new strata::ScratchFile;
  scratch->Set(absl::string_view(reinterpret_cast<const char*>(data), size));
  const std::string broken = strata::BrokenInvariant(strata::GgufFile::Open(scratch->path()));
  CHECK(broken.empty()) << broken;
  return 0;
}
