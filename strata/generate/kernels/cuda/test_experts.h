// A layer of random experts for tests: here with plain loops over the CPU's kernels, and on the
// device.
#ifndef STRATA_GENERATE_KERNELS_CUDA_TEST_EXPERTS_H_
#define STRATA_GENERATE_KERNELS_CUDA_TEST_EXPERTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "strata/core/block_type.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/cuda/device_array.h"
#include "strata/generate/kernels/cuda/device_experts.h"

namespace strata {

// One role of all experts, each with a scale and biases.
class TestExpertMatrix {
 public:
  // Experts begin `offset` bytes behind multiples of 256.
  TestExpertMatrix(BlockType type, int num_experts, int64_t rows, int64_t columns, int offset,
                   std::mt19937& random);

  BlockType type() const { return type_; }
  // As that part of its experts' blobs.
  DeviceExpertMatrix on_device(int part = 0) const;
  const std::byte* address(int expert) const { return device_.data() + expert * stride_ + offset_; }
  // scale * (weights x) + bias
  std::vector<float> Times(int expert, const ActivationView& x) const;

 private:
  const BlockType type_;
  const int64_t rows_, columns_;
  const int64_t row_bytes_, stride_, offset_;
  const std::vector<std::byte> bytes_;
  const std::vector<float> scales_, biases_;
  const DeviceArray<std::byte> device_;
  const DeviceArray<float> device_scales_, device_biases_;
};

// Choices of `rows` rows: distinct experts within a row, many alike between rows.
class TestRouting {
 public:
  TestRouting(int rows, int num_experts, int num_chosen, std::mt19937& random);

  int expert(int row, int rank) const { return experts_[row * num_chosen_ + rank]; }
  float weight(int row, int rank) const { return weights_[row * num_chosen_ + rank]; }
  DeviceRouting on_device() const;

 private:
  const int num_experts_, num_chosen_;
  std::vector<int32_t> experts_;
  std::vector<float> weights_;
  std::unique_ptr<DeviceArray<int32_t>> device_experts_;
  std::unique_ptr<DeviceArray<float>> device_weights_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_TEST_EXPERTS_H_
