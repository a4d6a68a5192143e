// What tests of kernels share: a fixture that is skipped without a card, and the forms of
// activations in device memory beside what the CPU makes of the same values.
#ifndef STRATA_GENERATE_KERNELS_CUDA_KERNEL_TEST_H_
#define STRATA_GENERATE_KERNELS_CUDA_KERNEL_TEST_H_

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/cuda/device_array.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/step_fault.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {

class KernelTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kOperation = 7;

  void SetUp() override {
    if (!HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
    fault_word_ = std::make_unique<DeviceArray<uint32_t>>(1);
  }

  // Values of the size that activations have.
  std::vector<float> RandomValues(int64_t count, float spread = 1.0f) {
    std::normal_distribution<float> normal;
    std::vector<float> values(count);
    for (float& value : values) value = spread * normal(random_);
    return values;
  }
  FaultReport fault() const { return {fault_word_->data(), kOperation}; }
  uint32_t ReadFault() const { return fault_word_->Read()[0]; }

  std::mt19937 random_{11};
  const KernelStream stream_ = {};

 private:
  std::unique_ptr<DeviceArray<uint32_t>> fault_word_;
};

// Every form that the size allows.
class ActivationArrays {
 public:
  ActivationArrays(int num_rows, int64_t size)
      : size_(size),
        values_(num_rows * size),
        a32_(num_rows, size, 32, 32),
        a256_(num_rows, size, 256, 16) {}

  DeviceActivations forms() const {
    DeviceActivations forms = {.size = size_, .values = values_.data()};
    if (size_ % 32 == 0) forms.a32 = a32_.rows();
    if (size_ % 256 == 0) forms.a256 = a256_.rows();
    return forms;
  }
  std::vector<float> values() const { return values_.Read(); }

  void ExpectForms(absl::Span<const float> values) const {
    if (size_ % 32 == 0) a32_.ExpectEqual(values, QuantizeA32);
    if (size_ % 256 == 0) a256_.ExpectEqual(values, QuantizeA256);
  }
  void Expect(const std::vector<float>& expected) const {
    const std::vector<float> found = values();
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(f32::Bits(found[i]), f32::Bits(expected[i]))
          << "row " << i / size_ << ", value " << i % size_ << ": " << found[i] << " for "
          << expected[i];
    }
    ExpectForms(expected);
  }

 private:
  class Int8Arrays {
   public:
    Int8Arrays(int num_rows, int64_t size, int block, int sum)
        : q_(num_rows * size),
          scales_(num_rows * size / block + 1),
          sums_(num_rows * size / sum + 1),
          num_scales_(num_rows * size / block),
          num_sums_(num_rows * size / sum) {}
    DeviceInt8Rows rows() const { return {q_.data(), scales_.data(), sums_.data()}; }

    template <typename Quantize>
    void ExpectEqual(absl::Span<const float> values, Quantize quantize) const {
      std::vector<int8_t> q(q_.size());
      std::vector<float> scales(scales_.size());
      std::vector<int16_t> sums(sums_.size());
      ASSERT_TRUE(quantize(values, q.data(), scales.data(), sums.data()));
      EXPECT_EQ(q_.Read(), q);
      const std::vector<float> found_scales = scales_.Read();
      for (int64_t i = 0; i < num_scales_; ++i) {
        ASSERT_EQ(f32::Bits(found_scales[i]), f32::Bits(scales[i])) << "block " << i;
      }
      const std::vector<int16_t> found_sums = sums_.Read();
      for (int64_t i = 0; i < num_sums_; ++i) ASSERT_EQ(found_sums[i], sums[i]) << "sum " << i;
    }

   private:
    DeviceArray<int8_t> q_;
    DeviceArray<float> scales_;
    DeviceArray<int16_t> sums_;
    const int64_t num_scales_;
    const int64_t num_sums_;
  };

  const int64_t size_;
  DeviceArray<float> values_;
  Int8Arrays a32_;
  Int8Arrays a256_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_KERNEL_TEST_H_
