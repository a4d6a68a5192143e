// The first screen of gguf_inspect: what a model is, for a person who sees it for the first time.
#ifndef STRATA_TOOLS_MODEL_SCREEN_H_
#define STRATA_TOOLS_MODEL_SCREEN_H_

#include <string>

#include "strata/core/gguf/gguf_file.h"
#include "strata/tools/model_view.h"

namespace strata {

// Ends with whether `generate` runs it. Of a file that is no model: the reason, and what is known.
std::string ModelScreen(const GgufFile& file, const ModelView& view);

}  // namespace strata

#endif  // STRATA_TOOLS_MODEL_SCREEN_H_
