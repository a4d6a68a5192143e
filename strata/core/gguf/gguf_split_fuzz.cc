// libFuzzer target: any bytes as the two shards of a split GGUF model.
//
// The input's first four bytes are the length of the first shard, little-endian; a longer one than
// there are bytes is all of them. //testdata:split_corpus makes such inputs of the case files.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_invariants.h"
#include "strata/core/gguf/scratch_file.h"

namespace strata {
namespace {

// Two shards by name, in a folder of this process that stays behind empty of bytes.
struct Shards {
  Shards() {
    std::string pattern = std::filesystem::temp_directory_path() / "gguf_split_fuzz_XXXXXX";
    PCHECK(mkdtemp(pattern.data()) != nullptr) << pattern;
    for (int i = 0; i < 2; ++i) {
      names[i] = pattern + (i == 0 ? "/m-00001-of-00002.gguf" : "/m-00002-of-00002.gguf");
      std::filesystem::create_symlink(files[i].path(), names[i]);
    }
  }
  ScratchFile files[2];
  std::string names[2];
};

}  // namespace
}  // namespace strata

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static strata::Shards* const shards = new strata::Shards;
  uint32_t first_bytes = 0;
  if (size < sizeof first_bytes) return 0;
  std::memcpy(&first_bytes, data, sizeof first_bytes);
  absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  bytes.remove_prefix(sizeof first_bytes);
  first_bytes = static_cast<uint32_t>(std::min<size_t>(first_bytes, bytes.size()));
  shards->files[0].Set(bytes.substr(0, first_bytes));
  shards->files[1].Set(bytes.substr(first_bytes));
  for (const std::string& name : shards->names) {
    const std::string broken = strata::BrokenInvariant(strata::GgufFile::Open(name));
    CHECK(broken.empty()) << broken;
  }
  return 0;
}
