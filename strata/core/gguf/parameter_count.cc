#include "strata/core/gguf/parameter_count.h"

#include <cstdint>

#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_tensor.h"
#include "strata/core/gguf/model_config.h"
#include "strata/core/gguf/tensor_place.h"

namespace strata {

ParameterCount CountParameters(const GgufFile& file, const ModelConfig& config,
                               const ExpertLayout& layout) {
  ParameterCount count;
  int64_t experts = 0;      // In all routed experts of the trunk.
  int64_t row_lookups = 0;  // In tables of which a token reads one row.
  for (const GgufTensor& tensor : file.tensors()) {
    if (IsQuantizationScale(tensor.name)) continue;
    const TensorPlace place = ClassifyTensor(tensor.name);
    const int64_t elements = tensor.num_elements();
    count.total += elements;
    if (place.block >= config.trunk_layers()) {
      count.nextn += elements;
    } else if (place.kind == TensorKind::kExpert || place.kind == TensorKind::kExpertCompanion) {
      experts += elements;
    } else if (place.kind == TensorKind::kTable) {
      row_lookups += elements;
    }
  }
  count.active = count.total - count.nextn - row_lookups;
  if (!layout.empty()) {
    count.active -= experts / layout.num_experts() * (layout.num_experts() - layout.num_used());
  }
  return count;
}

}  // namespace strata
