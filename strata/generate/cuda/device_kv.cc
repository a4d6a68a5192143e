#include "strata/generate/cuda/device_kv.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "strata/core/cli/byte_size.h"
#include "strata/core/device.h"
#include "strata/core/device_loan.h"
#include "strata/core/error.h"
#include "strata/core/status_macros.h"
#include "strata/generate/cuda/cuda_support.h"
#include "strata/generate/engine/kv_type.h"
#include "strata/generate/kernels/cuda/kv_page.h"
#include "strata/generate/kernels/cuda/step_block.h"
#include "strata/generate/model/model_graph.h"

namespace strata {
namespace {

// Large enough that few allocations are made, small enough to leave room for others.
constexpr int64_t kSlabBytes = int64_t{128} << 20;
constexpr int64_t kLayerAlignment = 256;

KvFormat FormatOf(KvType type) {
  switch (type) {
    case KvType::kF32:
      return KvFormat::kF32;
    case KvType::kF16:
      return KvFormat::kF16;
    case KvType::kInt8:
      return KvFormat::kInt8;
  }
  LOG(FATAL) << "no such KV type: " << static_cast<int>(type);
}

KvLayer LayerOf(const SelfAttention& attention) {
  return {.num_heads = attention.num_kv_heads,
          .key_size = attention.key_size,
          .value_size = attention.value_size};
}

int64_t NumPages(int64_t num_positions) {
  return (num_positions + kKvPagePositions - 1) / kKvPagePositions;
}

}  // namespace

DeviceKv::DeviceKv(Device& device, KvType type, const ModelGraph& graph, int64_t max_context)
    : device_(device), pages_of_sequence_(static_cast<int>(NumPages(max_context))) {
  for (const Layer& layer : graph.layers) {
    KvLayer& kv = layers_.emplace_back(LayerOf(AttentionOf(layer)));
    kv.format = FormatOf(type);
    kv.offset = page_bytes_;
    page_bytes_ += (kv.bytes() + kLayerAlignment - 1) / kLayerAlignment * kLayerAlignment;
  }
  for (int number = kMaxSequences - 1; number >= 0; --number) free_numbers_.push_back(number);
}

absl::Status DeviceKv::Reserve(int64_t num_positions) {
  const int64_t missing = NumPages(num_positions) - std::ssize(free_pages_);
  return missing > 0 ? AddSlab(missing) : absl::OkStatus();
}

absl::Status DeviceKv::AddSlab(int64_t num_pages) {
  absl::StatusOr<DeviceMemory> slab = device_.Allocate(num_pages * page_bytes_);
  if (!slab.ok()) {
    device_.ClearError();
    const absl::StatusOr<DeviceMemoryInfo> memory = device_.GetMemoryInfo();
    return MachineError(absl::StrCat(
        "keys and values of ", num_pages * kKvPagePositions, " more tokens take ",
        FormatByteSize(num_pages * page_bytes_), " of GPU memory, ",
        memory.ok() ? FormatByteSize(memory->free_bytes) : "an unknown number of bytes",
        " are free: lower --max_context or --expert_cache, or use --kv f16 or int8"));
  }
  // The first ones are handed out first.
  for (int64_t page = num_pages - 1; page >= 0; --page) {
    free_pages_.push_back(slab->data() + page * page_bytes_);
  }
  bytes_ += slab->size();
  slabs_.push_back(*std::move(slab));
  return absl::OkStatus();
}

absl::StatusOr<std::byte*> DeviceKv::TakePage() {
  if (free_pages_.empty()) {
    RETURN_IF_ERROR(AddSlab(std::clamp<int64_t>(kSlabBytes / page_bytes_, 1, pages_of_sequence_)));
  }
  std::byte* const page = free_pages_.back();
  free_pages_.pop_back();
  return page;
}

DeviceSequence::DeviceSequence(DeviceKv& kv)
    : kv_(kv), number_([&kv] {
        CHECK(!kv.free_numbers_.empty())
            << "more than " << DeviceKv::kMaxSequences << " sequences at a time";
        const int number = kv.free_numbers_.back();
        kv.free_numbers_.pop_back();
        return number;
      }()) {}

DeviceSequence::~DeviceSequence() {
  Rewind(0);
  kv_.free_numbers_.push_back(number_);
}

int64_t DeviceSequence::Rewind(int64_t position) {
  CHECK(0 <= position && position <= position_) << position;
  for (const int64_t num_pages = NumPages(position); std::ssize(pages_) > num_pages;) {
    kv_.free_pages_.push_back(pages_.back());
    pages_.pop_back();
  }
  position_ = position;
  return position;
}

absl::Status DeviceSequence::MakeRoom(int64_t num_positions) {
  return kv_.Reserve(num_positions - std::ssize(pages_) * kKvPagePositions);
}

absl::Status DeviceSequence::Reserve(int64_t num_positions, StepBlock& block) {
  while (std::ssize(pages_) < NumPages(num_positions)) {
    ASSIGN_OR_RETURN(std::byte* const page, kv_.TakePage());
    CHECK(block.PatchPage(first_page() + std::ssize(pages_), page));
    pages_.push_back(page);
  }
  return absl::OkStatus();
}

}  // namespace strata
