#include "strata/generate/kernels/cuda/test_vectors.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "glog/logging.h"
#include "strata/generate/blocks/activation_form.h"
#include "strata/generate/blocks/random_weights.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/cuda/device_array.h"
#include "strata/generate/kernels/cuda/device_rows.h"

namespace strata {
namespace {

template <typename T>
bool SameBits(const T* a, const T* b, int64_t count) {
  return std::memcmp(a, b, count * sizeof(T)) == 0;
}

// The int8 form, where it is one, among all forms.
DeviceActivations ActivationsOf(ActivationForm form, int64_t size, float* values,
                                const DeviceInt8Rows& rows) {
  DeviceActivations activations = {.size = size, .values = values};
  if (form == ActivationForm::kA32) activations.a32 = rows;
  if (form == ActivationForm::kA256) activations.a256 = rows;
  return activations;
}

}  // namespace

TestVectors::TestVectors(ActivationForm form, int count, int64_t size, std::mt19937& random)
    : form_(form), size_(size), buffers_(count) {
  std::vector<float> all_values, scales;
  std::vector<int8_t> q;
  std::vector<int16_t> sums;
  for (int i = 0; i < count; ++i) {
    values_.push_back(RandomActivations(size, random));
    CHECK(buffers_[i].Assign(form, values_[i]));
    const ActivationView& view = views_.emplace_back(buffers_[i].view());
    all_values.insert(all_values.end(), values_[i].begin(), values_[i].end());
    if (form == ActivationForm::kF32) continue;
    q.insert(q.end(), view.q, view.q + size);
    scales.insert(scales.end(), view.scales, view.scales + size / BlockSizeOf(form));
    sums.insert(sums.end(), view.sums, view.sums + size / SumSizeOf(form));
  }
  device_values_ = std::make_unique<DeviceArray<float>>(all_values);
  q_ = std::make_unique<DeviceArray<int8_t>>(q);
  scales_ = std::make_unique<DeviceArray<float>>(scales);
  sums_ = std::make_unique<DeviceArray<int16_t>>(sums);
}

DeviceActivations TestVectors::on_device() const {
  return ActivationsOf(form_, size_, device_values_->data(),
                       {.q = q_->data(), .scales = scales_->data(), .sums = sums_->data()});
}

TestHidden::TestHidden(ActivationForm form, int count, int64_t size)
    : form_(form),
      size_(size),
      values_(count * size),
      q_(count * size),
      scales_(count * size / BlockSizeOf(form)),
      sums_(count * size / SumSizeOf(form)) {}

DeviceActivations TestHidden::on_device() const {
  return ActivationsOf(form_, size_, values_.data(),
                       {.q = q_.data(), .scales = scales_.data(), .sums = sums_.data()});
}

void TestHidden::Read() {
  read_values_ = values_.Read();
  read_q_ = q_.Read();
  read_scales_ = scales_.Read();
  read_sums_ = sums_.Read();
}

bool TestHidden::Equals(int i, const std::vector<float>& values) const {
  if (!SameBits(&read_values_[i * size_], values.data(), size_)) return false;
  if (form_ == ActivationForm::kF32) return true;
  ActivationBuffer buffer;
  CHECK(buffer.Assign(form_, values));
  const int64_t num_scales = size_ / BlockSizeOf(form_);
  const int64_t num_sums = size_ / SumSizeOf(form_);
  return SameBits(&read_q_[i * size_], buffer.view().q, size_) &&
         SameBits(&read_scales_[i * num_scales], buffer.view().scales, num_scales) &&
         SameBits(&read_sums_[i * num_sums], buffer.view().sums, num_sums);
}

}  // namespace strata
