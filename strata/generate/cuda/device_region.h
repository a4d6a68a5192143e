// Memory of a device cut into arrays: measured first, then taken.
//
//   DeviceRegion measure;
//   Lay(measure);                       // Asks for every array; addresses mean nothing.
//   memory = device.Allocate(measure.bytes());
//   DeviceRegion region(memory.data());
//   Lay(region);                        // The same calls: now they are the arrays.
#ifndef STRATA_GENERATE_CUDA_DEVICE_REGION_H_
#define STRATA_GENERATE_CUDA_DEVICE_REGION_H_

#include <cstddef>
#include <cstdint>

namespace strata {

class DeviceRegion {
 public:
  // Arrays begin at multiples of this, and as much lies behind the last one: kernels read whole
  // lines.
  static constexpr int64_t kAlignment = 256;

  explicit DeviceRegion(std::byte* begin = nullptr) : begin_(begin) {}

  // `count` values; null for none.
  template <typename T>
  T* Take(int64_t count) {
    if (count == 0) return nullptr;
    const int64_t at = size_;
    size_ += (count * int64_t{sizeof(T)} + kAlignment - 1) / kAlignment * kAlignment;
    return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(begin_) + static_cast<uintptr_t>(at));
  }

  // Of all arrays so far.
  int64_t bytes() const { return size_ + kAlignment; }

 private:
  std::byte* const begin_;
  int64_t size_ = 0;
};

}  // namespace strata

#endif  // STRATA_GENERATE_CUDA_DEVICE_REGION_H_
