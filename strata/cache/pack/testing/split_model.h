// A model in several files, for tests: the tensors of one that is in a single file.
#ifndef STRATA_CACHE_PACK_TESTING_SPLIT_MODEL_H_
#define STRATA_CACHE_PACK_TESTING_SPLIT_MODEL_H_

#include <string>

namespace strata {

// Writes it to `folder` as NAME-00001-of-0000N.gguf and so on; the path of the first. Shards have
// about equally many tensors, so that a layer's may lie in two of them.
std::string SplitModel(const std::string& model, const std::string& folder, const std::string& name,
                       int num_shards);

}  // namespace strata

#endif  // STRATA_CACHE_PACK_TESTING_SPLIT_MODEL_H_
