// The first screen of gguf_inspect: what a model is, for a person who sees it for the first time.
#ifndef STRATA_TOOLS_MODEL_SCREEN_H_
#define STRATA_TOOLS_MODEL_SCREEN_H_

#include <string>

#include "absl/status/statusor.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/tools/model_view.h"

namespace strata {

// A file that is no model gets its container's facts and the reason.
std::string ModelScreen(const GgufFile& file, const absl::StatusOr<ModelView>& view);

}  // namespace strata

#endif  // STRATA_TOOLS_MODEL_SCREEN_H_
