#include "strata/generate/kernels/cuda/test_experts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "strata/core/block_type.h"
#include "strata/generate/blocks/random_weights.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/cuda/device_array.h"
#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/row_dot.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

int64_t RowBytes(BlockType type, int64_t columns) {
  return columns / InfoOf(type).block_weights * InfoOf(type).block_bytes;
}

// Matrices of random weights, each `stride` bytes.
std::vector<std::byte> Matrices(BlockType type, int num_experts, int64_t weights, int64_t stride,
                                int64_t offset, std::mt19937& random) {
  std::vector<std::byte> bytes(num_experts * stride);
  for (int expert = 0; expert < num_experts; ++expert) {
    const std::vector<std::byte> matrix = RandomWeights(type, weights, random);
    std::memcpy(&bytes[expert * stride + offset], matrix.data(), matrix.size());
  }
  return bytes;
}

}  // namespace

TestExpertMatrix::TestExpertMatrix(BlockType type, int num_experts, int64_t rows, int64_t columns,
                                   int offset, std::mt19937& random)
    : type_(type),
      rows_(rows),
      columns_(columns),
      row_bytes_(RowBytes(type, columns)),
      stride_((rows * row_bytes_ + offset + 255) / 256 * 256),
      offset_(offset),
      bytes_(Matrices(type, num_experts, rows * columns, stride_, offset, random)),
      scales_(RandomActivations(num_experts, random)),
      biases_(RandomActivations(num_experts * rows, random)),
      device_(bytes_),
      device_scales_(scales_),
      device_biases_(biases_) {}

DeviceExpertMatrix TestExpertMatrix::on_device(int part) const {
  return {.type = type_,
          .rows = rows_,
          .columns = columns_,
          .part = part,
          .scales = device_scales_.data(),
          .biases = device_biases_.data()};
}

std::vector<float> TestExpertMatrix::Times(int expert, const ActivationView& x) const {
  std::vector<float> y(rows_);
  for (int64_t row = 0; row < rows_; ++row) {
    const float dot = RowDot(type_, &bytes_[expert * stride_ + offset_ + row * row_bytes_], x);
    y[row] = f32::Add(f32::Mul(dot, scales_[expert]), biases_[expert * rows_ + row]);
  }
  return y;
}

TestRouting::TestRouting(int rows, int num_experts, int num_chosen, std::mt19937& random)
    : num_experts_(num_experts), num_chosen_(num_chosen) {
  std::vector<int32_t> order(num_experts);
  std::iota(order.begin(), order.end(), 0);
  for (int row = 0; row < rows; ++row) {
    std::shuffle(order.begin(), order.end(), random);
    experts_.insert(experts_.end(), order.begin(), order.begin() + num_chosen);
  }
  weights_ = RandomActivations(rows * num_chosen, random);
  device_experts_ = std::make_unique<DeviceArray<int32_t>>(experts_);
  device_weights_ = std::make_unique<DeviceArray<float>>(weights_);
}

DeviceRouting TestRouting::on_device() const {
  return {.num_experts = num_experts_,
          .num_chosen = num_chosen_,
          .experts = device_experts_->data(),
          .weights = device_weights_->data()};
}

}  // namespace strata
