#include "strata/generate/commands/stop_note.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "strata/generate/engine/generator.h"

namespace strata {

std::string StopNote(const Generation& generation, int64_t max_context) {
  switch (generation.stop_reason) {
    case StopReason::kEos:
    case StopReason::kStop:
      return "";
    case StopReason::kLength:
      return absl::StrCat("(cut after ", generation.ids.size(), " tokens: --max_new)");
    case StopReason::kContext:
      return absl::StrCat("(cut: the context of ", max_context, " tokens is full: --max_context)");
    case StopReason::kInterrupt:
      return absl::StrCat("(stopped after ", generation.ids.size(), " tokens)");
  }
  LOG(FATAL) << "no such stop reason: " << static_cast<int>(generation.stop_reason);
}

}  // namespace strata
