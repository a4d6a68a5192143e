#include "strata/generate/cuda/placed_embedding.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "absl/status/statusor.h"
#include "strata/core/device.h"
#include "strata/core/host_memory.h"
#include "strata/core/status_macros.h"
#include "strata/generate/cuda/device_region.h"
#include "strata/generate/cuda/device_weights.h"
#include "strata/generate/kernels/cuda/block_codes.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

absl::StatusOr<PlacedEmbedding> PlacedEmbedding::Create(const ModelGraph& graph,
                                                        const DeviceWeights& weights,
                                                        HostMemory& host_memory, Device& device,
                                                        const DeviceStream& stream) {
  const WeightMatrix& matrix = graph.embedding;
  PlacedEmbedding placed;
  DeviceEmbedding& rows = placed.rows_;
  rows = {.type = matrix.type,
          .rows = matrix.rows,
          .columns = matrix.columns,
          .data = weights.Find(matrix),  // Where the output is tied to it.
          .scale = graph.embedding_scale};
  if (rows.data == nullptr) {
    const int64_t bytes = matrix.rows * matrix.row_bytes();
    ASSIGN_OR_RETURN(
        placed.on_host_,
        host_memory.Allocate({.purpose = "the embedding", .unit_bytes = bytes, .num_units = 1}));
    std::memcpy(placed.on_host_.data(), matrix.data, static_cast<size_t>(bytes));
    rows.data = placed.on_host_.data();
    if (!placed.on_host_.pinned()) {
      ASSIGN_OR_RETURN(placed.on_device_, device.Allocate(bytes + DeviceRegion::kAlignment));
      RETURN_IF_ERROR(
          device.CopyToDevice(placed.on_device_.data(), placed.on_host_.bytes(), stream));
      rows.data = placed.on_device_.data();
    }
  }
  const auto tables = std::make_unique<const BlockTables>(MakeBlockTables());
  ASSIGN_OR_RETURN(placed.tables_, device.Allocate(sizeof(BlockTables)));
  rows.tables = reinterpret_cast<const BlockTables*>(placed.tables_.data());
  // From pageable memory: it has been read when the call returns.
  RETURN_IF_ERROR(device.CopyToDevice(
      placed.tables_.data(),
      {reinterpret_cast<const std::byte*>(tables.get()), sizeof(BlockTables)}, stream));
  return placed;
}

}  // namespace strata
