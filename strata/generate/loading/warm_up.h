// Reads a model's file into memory before its first token, with progress on stderr.
#ifndef STRATA_GENERATE_LOADING_WARM_UP_H_
#define STRATA_GENERATE_LOADING_WARM_UP_H_

#include "strata/core/file_mapping.h"
#include "strata/core/gguf/gguf_file.h"

namespace strata {

// In the order of the file, so that the disk reads ahead; pages then come at memory's speed and not
// one fault at a time. A file that is larger than the memory that is left is not read: reading its
// end would drop its beginning. Weights are used in the mapping either way. Tables of which a token
// looks up a few rows are left alone.
void WarmUp(const GgufFile& file);

// The same of a model whose experts are read from a pack: their slices in the model's files are
// left alone.
void WarmUpPack(const GgufFile& file, const FileMapping& experts);

}  // namespace strata

#endif  // STRATA_GENERATE_LOADING_WARM_UP_H_
