// Pages of a KV cache with one layer in device memory, for tests and benchmarks: sequences whose
// pages lie in any order, filled with random keys and values.
#ifndef STRATA_GENERATE_KERNELS_CUDA_KV_PAGES_H_
#define STRATA_GENERATE_KERNELS_CUDA_KV_PAGES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "strata/generate/kernels/cuda/device_array.h"
#include "strata/generate/kernels/cuda/kv_page.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

class KvPages {
 public:
  KvPages(const KvLayer& layer, int num_sequences, int pages_a_sequence)
      : layer_(layer),
        pages_a_sequence_(pages_a_sequence),
        page_bytes_(layer.offset + layer.bytes()),
        host_(num_sequences * pages_a_sequence * page_bytes_, std::byte{0xff}),
        device_(static_cast<int64_t>(host_.size())),
        table_(num_sequences * pages_a_sequence) {
    for (int i = 0; i < num_sequences * pages_a_sequence; ++i) order_.push_back(i);
  }

  void Shuffle(std::mt19937& random) { std::shuffle(order_.begin(), order_.end(), random); }

  // Where the page table of a sequence begins.
  int first_page(int sequence) const { return sequence * pages_a_sequence_; }
  std::byte* const* table() const { return table_.data(); }

  // What the host has goes to the device.
  void Upload() {
    device_.Write(host_);
    std::vector<std::byte*> table;
    for (const int page : order_) table.push_back(device_.data() + page * page_bytes_);
    table_.Write(table);
  }
  void Download() { host_ = device_.Read(); }

  // A key or value as attention reads it.
  float key(int sequence, int position, int head, int i) const {
    return LoadKvValue(layer_.format, page(sequence, position) + layer_.keys_offset(head),
                       layer_.key_size, position % kKvPagePositions, i);
  }
  float value(int sequence, int position, int head, int i) const {
    return LoadKvValue(layer_.format, page(sequence, position) + layer_.values_offset(head),
                       layer_.value_size, position % kKvPagePositions, i);
  }

  // Random keys and values up to `position`; what comes after stays NaN.
  void Fill(int sequence, int position, std::mt19937& random) {
    for (int p = 0; p <= position; ++p) {
      for (int head = 0; head < layer_.num_heads; ++head) {
        FillRow(page(sequence, p) + layer_.keys_offset(head), layer_.key_size, p, random);
        FillRow(page(sequence, p) + layer_.values_offset(head), layer_.value_size, p, random);
      }
    }
  }

 private:
  const std::byte* page(int sequence, int position) const {
    const int index = first_page(sequence) + position / kKvPagePositions;
    return host_.data() + order_[index] * page_bytes_;
  }
  std::byte* page(int sequence, int position) {
    return const_cast<std::byte*>(static_cast<const KvPages*>(this)->page(sequence, position));
  }

  void FillRow(std::byte* run, int size, int position, std::mt19937& random) {
    const int slot = position % kKvPagePositions;
    std::normal_distribution<float> normal;
    for (int i = 0; i < size; ++i) {
      const float x = normal(random);
      if (layer_.format == KvFormat::kF32) Put(x, run + 4 * (slot * size + i));
      if (layer_.format == KvFormat::kF16) Put(f32::ToF16(x), run + 2 * (slot * size + i));
      if (layer_.format != KvFormat::kInt8) continue;
      Put(static_cast<int8_t>(random() % 255), run + slot * size + i);
      Put(0.01f + 1e-4f * static_cast<float>(random() % 64),
          run + kKvPagePositions * size + 4 * (slot * KvScalesOf(size) + i / kKvScaleBlock));
    }
  }
  template <typename T>
  static void Put(T x, std::byte* to) {
    std::memcpy(to, &x, sizeof(x));
  }

  const KvLayer layer_;
  const int pages_a_sequence_;
  const int64_t page_bytes_;
  std::vector<int> order_;
  std::vector<std::byte> host_;
  DeviceArray<std::byte> device_;
  DeviceArray<std::byte*> table_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_KV_PAGES_H_
