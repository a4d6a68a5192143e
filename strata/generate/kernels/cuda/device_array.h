// Arrays in device memory for tests and benchmarks of kernels, which have a card or end early.
// Whatever CUDA refuses ends the program.
#ifndef STRATA_GENERATE_KERNELS_CUDA_DEVICE_ARRAY_H_
#define STRATA_GENERATE_KERNELS_CUDA_DEVICE_ARRAY_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "cuda_runtime.h"
#include "glog/logging.h"

namespace strata {

inline bool HasCudaDevice() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess && count > 0) return true;
  cudaGetLastError();
  return false;
}

inline void CheckCuda(cudaError_t error) {
  CHECK_EQ(error, cudaSuccess) << cudaGetErrorString(error);
}

// Waits for all that was launched.
inline void FinishKernels() { CheckCuda(cudaDeviceSynchronize()); }

template <typename T>
class DeviceArray {
 public:
  // Every byte is 0xff to begin with: NaN, or -1.
  explicit DeviceArray(int64_t count) : size_(count) {
    // A byte more, so that an empty array has an address.
    CheckCuda(cudaMalloc(reinterpret_cast<void**>(&data_), bytes() + 1));
    Poison();
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(std::ssize(values)) {
    Write(values);
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return data_; }
  int64_t size() const { return size_; }
  size_t bytes() const { return static_cast<size_t>(size_) * sizeof(T); }

  void Poison() const { CheckCuda(cudaMemset(data_, 0xff, bytes())); }
  void Clear() const { CheckCuda(cudaMemset(data_, 0, bytes())); }
  void Write(const std::vector<T>& values) const {
    CHECK_EQ(std::ssize(values), size_);
    CheckCuda(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice));
  }
  // What is there when all that was launched has ended.
  std::vector<T> Read() const {
    FinishKernels();
    std::vector<T> values(static_cast<size_t>(size_));
    CheckCuda(cudaMemcpy(values.data(), data_, bytes(), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  const int64_t size_;
  T* data_ = nullptr;
};

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_DEVICE_ARRAY_H_
