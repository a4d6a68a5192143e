#include "strata/cache/host/registered_experts.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/host/registered_mapping.h"
#include "strata/core/device.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/pin_budget.h"

namespace strata {
namespace {

// Of slices that lie as their blob: it is copied as one.
FileWindow BlobWindow(const ExpertSlices& slices) {
  return {slices[0].file_offset, slices.layout().bytes()};
}

}  // namespace

RegisteredExperts::RegisteredExperts(const ExpertFiles& files, Device& device, PinBudget& budget,
                                     int64_t max_piece_bytes)
    : files_(files), budget_(budget) {
  mappings_.reserve(files.shards().size());
  for (const FileMapping* shard : files.shards()) {
    mappings_.emplace_back(*shard, device, budget, max_piece_bytes);
  }
}

int RegisteredExperts::Register(absl::Span<const ExpertId> hottest_first) {
  Unregister();
  std::string why = absl::StrCat("the pin budget (", budget_.origin(), ") has ",
                                 budget_.available_bytes(), " bytes");
  int num_tried = NumAffordable(hottest_first);
  while (num_tried > 0) {
    const absl::Status status = RegisterAll(hottest_first.subspan(0, num_tried));
    if (status.ok()) break;
    why = std::string(status.message());
    num_tried /= 2;
  }
  int num_pinned = 0;
  for (const ExpertId id : hottest_first) num_pinned += Holds(id);
  if (num_pinned == static_cast<int>(hottest_first.size())) return num_pinned;
  for (const RegisteredMapping& mapping : mappings_) {
    if (!mapping.refusal().ok()) why = std::string(mapping.refusal().message());
  }
  LOG(WARNING) << "asked to pin " << hottest_first.size() << " experts in place, got " << num_pinned
               << " (" << registered_bytes() << " bytes): " << why;
  return num_pinned;
}

bool RegisteredExperts::Holds(ExpertId id) const {
  const ExpertSlices& slices = files_.Slices(id);
  if (files_.LieAsBlob(slices)) return mappings_[slices[0].shard].Holds(BlobWindow(slices));
  return std::all_of(slices.begin(), slices.end(), [&](const ExpertSlice& slice) {
    return mappings_[slice.shard].Holds({slice.file_offset, slice.bytes});
  });
}

int64_t RegisteredExperts::registered_bytes() const {
  int64_t bytes = 0;
  for (const RegisteredMapping& mapping : mappings_) bytes += mapping.registered_bytes();
  return bytes;
}

std::vector<std::vector<FileWindow>> RegisteredExperts::WindowsOf(
    absl::Span<const ExpertId> ids) const {
  std::vector<std::vector<FileWindow>> windows(mappings_.size());
  for (const ExpertId id : ids) {
    const ExpertSlices& slices = files_.Slices(id);
    if (files_.LieAsBlob(slices)) {
      windows[slices[0].shard].push_back(BlobWindow(slices));
      continue;
    }
    for (const ExpertSlice& slice : slices) {
      windows[slice.shard].push_back({slice.file_offset, slice.bytes});
    }
  }
  return windows;
}

int RegisteredExperts::NumAffordable(absl::Span<const ExpertId> ids) const {
  if (IsAffordable(ids)) return static_cast<int>(ids.size());
  int affordable = 0, too_many = static_cast<int>(ids.size());
  while (too_many - affordable > 1) {
    const int middle = affordable + (too_many - affordable) / 2;
    (IsAffordable(ids.subspan(0, middle)) ? affordable : too_many) = middle;
  }
  return affordable;
}

bool RegisteredExperts::IsAffordable(absl::Span<const ExpertId> ids) const {
  const std::vector<std::vector<FileWindow>> windows = WindowsOf(ids);
  int64_t bytes = 0;
  for (size_t shard = 0; shard < windows.size(); ++shard) {
    if (mappings_[shard].refusal().ok()) bytes += mappings_[shard].PinnedBytes(windows[shard]);
  }
  return bytes <= budget_.available_bytes();
}

absl::Status RegisteredExperts::RegisterAll(absl::Span<const ExpertId> ids) {
  const std::vector<std::vector<FileWindow>> windows = WindowsOf(ids);
  for (size_t shard = 0; shard < windows.size(); ++shard) {
    const absl::Status status = mappings_[shard].Register(windows[shard]);
    if (status.ok() || absl::IsUnimplemented(status)) continue;
    Unregister();
    return status;
  }
  return absl::OkStatus();
}

void RegisteredExperts::Unregister() {
  for (RegisteredMapping& mapping : mappings_) mapping.Unregister();
}

}  // namespace strata
