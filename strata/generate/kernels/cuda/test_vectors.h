// Vectors for tests of device kernels: random, in the form of the CPU's kernels, and the same on
// the device.
#ifndef STRATA_GENERATE_KERNELS_CUDA_TEST_VECTORS_H_
#define STRATA_GENERATE_KERNELS_CUDA_TEST_VECTORS_H_

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "strata/generate/blocks/activation_form.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/cuda/device_array.h"
#include "strata/generate/kernels/cuda/device_rows.h"

namespace strata {

class TestVectors {
 public:
  TestVectors(ActivationForm form, int count, int64_t size, std::mt19937& random);

  const ActivationView& view(int i) const { return views_[i]; }
  DeviceActivations on_device() const;

 private:
  const ActivationForm form_;
  const int64_t size_;
  std::vector<std::vector<float>> values_;
  std::vector<ActivationBuffer> buffers_;
  std::vector<ActivationView> views_;
  std::unique_ptr<DeviceArray<float>> device_values_;
  std::unique_ptr<DeviceArray<int8_t>> q_;
  std::unique_ptr<DeviceArray<float>> scales_;
  std::unique_ptr<DeviceArray<int16_t>> sums_;
};

// Room on the device for vectors that a kernel writes, in the form that is asked for.
class TestHidden {
 public:
  TestHidden(ActivationForm form, int count, int64_t size);

  DeviceActivations on_device() const;
  // Whether vector i has the bits of `values` and of their int8 form.
  bool Equals(int i, const std::vector<float>& values) const;
  // Brings what is on the device here, for Equals.
  void Read();

 private:
  const ActivationForm form_;
  const int64_t size_;
  DeviceArray<float> values_;
  DeviceArray<int8_t> q_;
  DeviceArray<float> scales_;
  DeviceArray<int16_t> sums_;
  std::vector<float> read_values_, read_scales_;
  std::vector<int8_t> read_q_;
  std::vector<int16_t> read_sums_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_TEST_VECTORS_H_
