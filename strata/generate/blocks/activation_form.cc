#include "strata/generate/blocks/activation_form.h"

#include <optional>

#include "glog/logging.h"
#include "strata/core/block_type.h"
#include "strata/generate/blocks/integer_block.h"

namespace strata {

int BlockSizeOf(ActivationForm form) {
  switch (form) {
    case ActivationForm::kF32:
      return 1;
    case ActivationForm::kA32:
      return 32;
    case ActivationForm::kA256:
      return 256;
  }
  LOG(FATAL) << "no such activation form: " << static_cast<int>(form);
}

int SumSizeOf(ActivationForm form) {
  return form == ActivationForm::kA256 ? 16 : BlockSizeOf(form);
}

std::optional<ActivationForm> ActivationFormOf(BlockType type) {
  const IntegerFormat* format = FindIntegerFormat(type);
  if (format != nullptr) return format->activation;
  if (type == BlockType::kF32 || type == BlockType::kF16 || type == BlockType::kBF16) {
    return ActivationForm::kF32;
  }
  return std::nullopt;
}

}  // namespace strata
