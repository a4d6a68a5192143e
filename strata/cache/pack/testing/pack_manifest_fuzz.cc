// libFuzzer target: any bytes as a manifest, and as one whose checksum is right. Inputs begin with a
// manifest that is right.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "strata/cache/pack/pack_manifest_file.h"
#include "strata/cache/pack/testing/pack_invariants.h"
#include "strata/cache/pack/testing/small_model.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

// Of a manifest that is right, what its checksum is of.
const std::string& RightBody() {
  static const std::string body = [] {
    const std::string folder = strata::NewFolder("manifest_fuzz");
    const strata::OpenModel model(
        strata::WriteSmallModel(folder, "model", {.layers = 2, .experts = 2, .width = 12}));
    CHECK(strata::BuildPack(model, strata::PackOptions(model, folder + "/pack")).ok());
    const std::string text = strata::ReadFile(folder + "/pack/manifest.json");
    return text.substr(0, text.rfind(",\n \"checksum\""));
  }();
  return body;
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int /*seed*/) {
  if (size < 2 && RightBody().size() <= max_size) {
    std::copy(RightBody().begin(), RightBody().end(), data);
    size = RightBody().size();
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::string broken = strata::BrokenManifest(bytes);
  CHECK(broken.empty()) << broken;
  broken = strata::BrokenManifest(strata::WithManifestChecksum(bytes));
  CHECK(broken.empty()) << broken;
  return 0;
}
