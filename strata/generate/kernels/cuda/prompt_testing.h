// Activations and faults for the tests of prompt kernels on a card.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PROMPT_TESTING_H_
#define STRATA_GENERATE_KERNELS_CUDA_PROMPT_TESTING_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "glog/logging.h"
#include "strata/generate/blocks/activation_form.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/cuda/device_array.h"
#include "strata/generate/kernels/cuda/device_rows.h"
#include "strata/generate/kernels/cuda/step_fault.h"

namespace strata {

// A fault word, kNoFault at first.
class DeviceFault {
 public:
  FaultReport report(uint32_t operation = 0) const { return {word_.data(), operation}; }
  uint32_t Read() const { return word_.Read()[0]; }

 private:
  DeviceArray<uint32_t> word_{std::vector<uint32_t>{kNoFault}};
};

// Vectors in every form that their size allows, on the host and on the device.
class TestActivations {
 public:
  explicit TestActivations(const std::vector<std::vector<float>>& vectors)
      : size_(static_cast<int64_t>(vectors[0].size())) {
    values_ = vectors;
    std::vector<float> flat;
    for (const std::vector<float>& x : values_) flat.insert(flat.end(), x.begin(), x.end());
    device_values_ = std::make_unique<DeviceArray<float>>(flat);
    device_.size = size_;
    device_.values = device_values_->data();
    if (size_ % 32 == 0) device_.a32 = AddForm(ActivationForm::kA32, a32_);
    if (size_ % 256 == 0) device_.a256 = AddForm(ActivationForm::kA256, a256_);
  }

  const DeviceActivations& device() const { return device_; }
  // On the host.
  ActivationView view(ActivationForm form, int64_t index) const {
    if (form == ActivationForm::kF32) {
      return {.form = form, .size = size_, .values = values_[index].data()};
    }
    const Form& all = form == ActivationForm::kA32 ? a32_ : a256_;
    return {.form = form,
            .size = size_,
            .q = all.q.data() + index * size_,
            .scales = all.scales.data() + index * (size_ / BlockSizeOf(form)),
            .sums = all.sums.data() + index * (size_ / SumSizeOf(form))};
  }

 private:
  struct Form {
    std::vector<int8_t> q;
    std::vector<float> scales;
    std::vector<int16_t> sums;
    std::unique_ptr<DeviceArray<int8_t>> device_q;
    std::unique_ptr<DeviceArray<float>> device_scales;
    std::unique_ptr<DeviceArray<int16_t>> device_sums;
  };

  DeviceInt8Rows AddForm(ActivationForm form, Form& all) {
    for (const std::vector<float>& x : values_) {
      ActivationBuffer buffer;
      CHECK(buffer.Assign(form, x));
      const ActivationView view = buffer.view();
      all.q.insert(all.q.end(), view.q, view.q + size_);
      all.scales.insert(all.scales.end(), view.scales, view.scales + size_ / BlockSizeOf(form));
      all.sums.insert(all.sums.end(), view.sums, view.sums + size_ / SumSizeOf(form));
    }
    all.device_q = std::make_unique<DeviceArray<int8_t>>(all.q);
    all.device_scales = std::make_unique<DeviceArray<float>>(all.scales);
    all.device_sums = std::make_unique<DeviceArray<int16_t>>(all.sums);
    return {all.device_q->data(), all.device_scales->data(), all.device_sums->data()};
  }

  const int64_t size_;
  std::vector<std::vector<float>> values_;
  std::unique_ptr<DeviceArray<float>> device_values_;
  Form a32_, a256_;
  DeviceActivations device_;
};

// Memory for vectors in every form that their size allows.
class DeviceForms {
 public:
  DeviceForms(int64_t count, int64_t size)
      : values_(count * size),
        q32_(count * size),
        q256_(count * size),
        scales32_(count * size / 32 + 1),
        scales256_(count * size / 256 + 1),
        sums32_(count * size / 32 + 1),
        sums256_(count * size / 16 + 1) {
    forms_.size = size;
    forms_.values = values_.data();
    if (size % 32 == 0) forms_.a32 = {q32_.data(), scales32_.data(), sums32_.data()};
    if (size % 256 == 0) forms_.a256 = {q256_.data(), scales256_.data(), sums256_.data()};
  }

  const DeviceActivations& forms() const { return forms_; }
  std::vector<float> Values() const { return values_.Read(); }

  // True when the codes, scales and sums of vector `index` are those of `x` in that form.
  bool Equals(const ActivationView& x, int64_t index) const {
    const bool is_a32 = x.form == ActivationForm::kA32;
    const int64_t scales = x.size / BlockSizeOf(x.form), sums = x.size / SumSizeOf(x.form);
    return Same((is_a32 ? q32_ : q256_).Read(), x.q, index * x.size, x.size) &&
           Same((is_a32 ? scales32_ : scales256_).Read(), x.scales, index * scales, scales) &&
           Same((is_a32 ? sums32_ : sums256_).Read(), x.sums, index * sums, sums);
  }

 private:
  template <typename T>
  static bool Same(const std::vector<T>& all, const T* expected, int64_t begin, int64_t count) {
    return std::memcmp(all.data() + begin, expected, count * sizeof(T)) == 0;
  }

  DeviceArray<float> values_;
  DeviceArray<int8_t> q32_, q256_;
  DeviceArray<float> scales32_, scales256_;
  DeviceArray<int16_t> sums32_, sums256_;
  DeviceActivations forms_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PROMPT_TESTING_H_
