// libFuzzer target: any bytes as the experts.bin of a pack, and as what an unfinished build has
// done. Inputs begin with an experts.bin that is right.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/pack/testing/pack_invariants.h"
#include "strata/cache/pack/testing/small_model.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

strata::ScratchPack& Pack() {
  static auto* const pack = [] {
    const std::string parent = strata::NewFolder("pack_fuzz");
    const strata::OpenModel model(
        strata::WriteSmallModel(parent, "model", {.layers = 1, .experts = 2, .width = 12}));
    const std::string folder = parent + "/pack";
    CHECK(strata::BuildPack(model, strata::PackOptions(model, folder)).ok());
    return new strata::ScratchPack(folder);
  }();
  return *pack;
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  const std::string& right = Pack().experts();
  if ((size < 2 || seed % 8 == 0) && right.size() <= max_size) {
    std::copy(right.begin(), right.end(), data);
    size = right.size();
    // Most changes are behind the header: one there is refused at the first look.
    if (seed % 16 != 0) data[4096 + seed / 16 % (size - 4096)] ^= 1;
    if (seed % 3 == 0) return size;
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  std::string broken = Pack().BrokenExperts(text);
  CHECK(broken.empty()) << broken;
  broken = strata::BrokenCheckpoint({reinterpret_cast<const std::byte*>(data), size});
  CHECK(broken.empty()) << broken;
  return 0;
}
