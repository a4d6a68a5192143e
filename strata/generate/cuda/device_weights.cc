#include "strata/generate/cuda/device_weights.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/host/host_placement.h"
#include "strata/cache/transfer/cache_filler.h"
#include "strata/cache/transfer/fill_item.h"
#include "strata/core/cli/byte_size.h"
#include "strata/core/cli/progress.h"
#include "strata/core/device.h"
#include "strata/core/device_event.h"
#include "strata/core/device_loan.h"
#include "strata/core/error.h"
#include "strata/core/file_mapping.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/status_macros.h"
#include "strata/generate/cuda/device_region.h"
#include "strata/generate/cuda/graph_weights.h"
#include "strata/generate/model/model_graph.h"

namespace strata {
namespace {

using Bytes = absl::Span<const std::byte>;

// Matrices travel in slices of this size, each through one stage.
constexpr int64_t kSliceBytes = 4 << 20;

Bytes BytesOf(const WeightMatrix& weights) {
  return {weights.data, static_cast<size_t>(weights.rows * weights.row_bytes())};
}
Bytes BytesOf(const std::vector<float>& values) {
  return {reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(float)};
}

// Pieces of mapped files, and where they go: what the filler of expert slots takes.
class MappedPieces {
 public:
  explicit MappedPieces(const GgufFile& file) {
    for (const auto& shard : file.shards()) shards_.push_back(&shard->mapping());
  }

  // False when the bytes lie in no mapping.
  bool Add(Bytes bytes, std::byte* destination) {
    const auto contains = [&](const FileMapping* shard) {
      const Bytes mapped = shard->bytes();
      return mapped.data() <= bytes.data() && bytes.data() < mapped.data() + mapped.size();
    };
    const auto shard = std::find_if(shards_.begin(), shards_.end(), contains);
    if (shard == shards_.end()) return false;
    for (int64_t offset = 0; offset < std::ssize(bytes); offset += kSliceBytes) {
      ExpertSlices slices;
      slices.push_back({.shard = static_cast<int>(shard - shards_.begin()),
                        .file_offset = bytes.data() + offset - (*shard)->bytes().data(),
                        .bytes = std::min(kSliceBytes, std::ssize(bytes) - offset)});
      const ExpertId id = {.layer = 0, .index = static_cast<int>(pieces_.size())};
      pieces_.emplace_back(id, slices);
      items_.push_back({.id = id, .destination = destination + offset});
    }
    num_bytes_ += std::ssize(bytes);
    return true;
  }

  absl::Status CopyTo(Device& device) {
    const ExpertFiles files(shards_, pieces_);
    HostPlacement::Options options = {.choice = HostPlacement::Choice::kStage};
    ASSIGN_OR_RETURN(const std::unique_ptr<HostPlacement> host,
                     HostPlacement::Create(options, files, device, files.ids(), {}));
    ASSIGN_OR_RETURN(const std::unique_ptr<CacheFiller> filler,
                     CacheFiller::Create({}, device, host->source(), host->stages()));
    Progress progress(
        {.label = "loading to the GPU", .total = num_bytes_, .unit = Progress::Unit::kBytes});
    int64_t shown = 0;
    return filler->Fill({.items = items_, .progress = [&](const CacheFiller::Progress& now) {
                           progress.Add(now.bytes_done - std::exchange(shown, now.bytes_done));
                         }});
  }

 private:
  std::vector<const FileMapping*> shards_;
  std::vector<std::pair<ExpertId, ExpertSlices>> pieces_;
  std::vector<FillItem> items_;
  int64_t num_bytes_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceWeights>> DeviceWeights::Create(const GgufFile& file,
                                                                     const ModelGraph& graph,
                                                                     Device& device) {
  auto weights = absl::WrapUnique(new DeviceWeights);
  RETURN_IF_ERROR(weights->Load(file, graph, device));
  return weights;
}

absl::Status DeviceWeights::Load(const GgufFile& file, const ModelGraph& graph, Device& device) {
  std::vector<Bytes> parts;
  VisitWeights(graph,
               {.matrix = [&](const WeightMatrix& m) { parts.push_back(BytesOf(m)); },
                .vector = [&](const std::vector<float>& v) { parts.push_back(BytesOf(v)); }});
  DeviceRegion measure;
  for (const Bytes& part : parts) measure.Take<std::byte>(std::ssize(part));
  ASSIGN_OR_RETURN(memory_, device.Allocate(measure.bytes()));
  ASSIGN_OR_RETURN(const DeviceStream stream, device.CreateStream());
  DeviceRegion region(memory_.data());
  MappedPieces mapped(file);
  for (const Bytes& part : parts) {
    std::byte* const address = region.Take<std::byte>(std::ssize(part));
    if (!addresses_.emplace(part.data(), address).second) continue;  // Two parts share it.
    if (mapped.Add(part, address)) continue;
    RETURN_IF_ERROR(device.CopyToDevice(address, part, stream));
  }
  RETURN_IF_ERROR(mapped.CopyTo(device));
  ASSIGN_OR_RETURN(const DeviceEvent copied, device.Record(stream));
  return device.Wait(copied);
}

const std::byte* DeviceWeights::Find(const WeightMatrix& weights) const {
  const auto found = addresses_.find(weights.data);
  return found == addresses_.end() ? nullptr : found->second;
}

const float* DeviceWeights::Vector(const std::vector<float>& values) const {
  if (values.empty()) return nullptr;
  return reinterpret_cast<const float*>(addresses_.at(values.data()));
}

DeviceMatrix DeviceWeights::Matrix(const Linear& linear) const {
  const WeightMatrix& weights = linear.weights;
  return {.type = weights.type,
          .rows = weights.rows,
          .columns = weights.columns,
          .data = CHECK_NOTNULL(Find(weights)),
          .scale = linear.scale,
          .bias = Vector(linear.bias)};
}

DeviceExpertMatrix DeviceWeights::Experts(const ExpertLinears& linears) const {
  return {.type = linears.type,
          .rows = linears.rows,
          .columns = linears.columns,
          .part = linears.part,
          .offset = linears.offset,
          .scales = Vector(linears.scales),
          .biases = Vector(linears.biases)};
}

}  // namespace strata
