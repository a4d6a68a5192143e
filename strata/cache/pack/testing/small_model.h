// Models of random bytes and a few kilobytes, and packs of them, for tests.
#ifndef STRATA_CACHE_PACK_TESTING_SMALL_MODEL_H_
#define STRATA_CACHE_PACK_TESTING_SMALL_MODEL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "strata/cache/experts/model_identity.h"
#include "strata/cache/pack/pack_builder.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"

namespace strata {

struct SmallModelShape {
  std::string form = "merged";  // Or "fused", "separate".
  int layers = 2;
  int experts = 4;
  int shards = 1;
  int width = 20;  // Of rows of F32: parts of blobs need padding unless it is a multiple of 8.
  uint64_t seed = 1;
};

// Writes the model's files; the path of the first.
std::string WriteSmallModel(const std::string& folder, const std::string& name,
                            const SmallModelShape& shape);

// A model that is sound.
struct OpenModel {
  explicit OpenModel(const std::string& path);

  std::unique_ptr<GgufFile> file;
  ExpertLayout layout;
  ModelIdentity identity;
};

// For a pack with experts by layer, or in the order that is given.
PackBuilder::Options PackOptions(const OpenModel& model, const std::string& folder,
                                 std::vector<int> order = {});
absl::Status BuildPack(const OpenModel& model, const PackBuilder::Options& options);

std::string ReadFile(const std::string& path);
void WriteFile(const std::string& path, const std::string& bytes);
// Turns some bits of one byte of a file.
void Flip(const std::string& path, int64_t offset, char bits = 1);

// A new empty folder for one test.
std::string NewFolder(const std::string& name);

}  // namespace strata

#endif  // STRATA_CACHE_PACK_TESTING_SMALL_MODEL_H_
