// Reads a model's file into memory before its first token, with progress on stderr.
#ifndef STRATA_GENERATE_LOADING_WARM_UP_H_
#define STRATA_GENERATE_LOADING_WARM_UP_H_

#include "strata/core/gguf/gguf_file.h"

namespace strata {

// In the order of the file, so that the disk reads ahead; pages then come at memory's speed and not
// one fault at a time. A file that is larger than the memory that is left is not read: reading its
// end would drop its beginning. Weights are used in the mapping either way.
void WarmUp(const GgufFile& file);

}  // namespace strata

#endif  // STRATA_GENERATE_LOADING_WARM_UP_H_
