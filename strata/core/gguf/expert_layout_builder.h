// Builds an ExpertLayout: sorts a model's tensors by what their names say, then checks each layer's
// experts against the config and against each other. Internal to expert_layout.cc.
#ifndef STRATA_CORE_GGUF_EXPERT_LAYOUT_BUILDER_H_
#define STRATA_CORE_GGUF_EXPERT_LAYOUT_BUILDER_H_

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_tensor.h"
#include "strata/core/gguf/model_config.h"
#include "strata/core/gguf/tensor_place.h"

namespace strata {

// For one Build. Errors name the file.
class ExpertLayoutBuilder {
 public:
  ExpertLayoutBuilder(const GgufFile& file, const ModelConfig& config)
      : file_(file), config_(config) {}
  absl::StatusOr<ExpertLayout> Build();

 private:
  // Tensors that are one role of a layer: one merged one, or one per expert in ascending order.
  struct Found {
    const GgufTensor* merged = nullptr;
    std::map<int, const GgufTensor*> separate;  // By expert.
    bool empty() const { return merged == nullptr && separate.empty(); }
  };
  struct Block {
    std::map<ExpertRole, Found> experts;
    const GgufTensor* router = nullptr;
    bool has_dense_ffn = false;
  };

  absl::Status SortTensors();
  absl::Status CheckBlocks() const;
  absl::Status AddLayer(int number, const Block& block);
  absl::Status CheckRouter(int number, const Block& block) const;
  absl::Status CheckRoles(int number, const Block& block) const;
  absl::Status CheckShapes(int number, absl::Span<const ExpertMatrix> matrices) const;
  absl::StatusOr<ExpertMatrix> ReadMatrix(ExpertRole role, const Found& found) const;
  absl::Status CheckMerged(const GgufTensor& tensor) const;
  absl::Status CheckSeparate(const std::map<int, const GgufTensor*>& experts,
                             ExpertRole role) const;
  absl::Status Error(absl::string_view kind, absl::string_view message) const;

  const GgufFile& file_;
  const ModelConfig& config_;
  std::map<int, Block> blocks_;  // Those that have tensors, by number.
  ExpertLayout layout_;
};

}  // namespace strata

#endif  // STRATA_CORE_GGUF_EXPERT_LAYOUT_BUILDER_H_
