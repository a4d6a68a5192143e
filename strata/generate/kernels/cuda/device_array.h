// Device memory for tests and benchmarks. Failures of the driver end the process.
#ifndef STRATA_GENERATE_KERNELS_CUDA_DEVICE_ARRAY_H_
#define STRATA_GENERATE_KERNELS_CUDA_DEVICE_ARRAY_H_

#include <cstddef>
#include <vector>

#include "cuda_runtime.h"
#include "glog/logging.h"

namespace strata {

inline bool HasCudaDevice() {
  int num_devices = 0;
  const bool is_there = cudaGetDeviceCount(&num_devices) == cudaSuccess && num_devices > 0;
  cudaGetLastError();
  return is_there;
}

inline void CheckCuda(cudaError_t error) {
  CHECK_EQ(error, cudaSuccess) << cudaGetErrorString(error);
}

// Begins with bytes of 0xff: NaN, and -1.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t count) : count_(count) {
    CheckCuda(cudaMalloc(reinterpret_cast<void**>(&data_), bytes() + 1));
    Poison();
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    CheckCuda(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice));
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return data_; }
  size_t bytes() const { return count_ * sizeof(T); }
  void Poison() const { CheckCuda(cudaMemset(data_, 0xff, bytes())); }
  void Clear() const { CheckCuda(cudaMemset(data_, 0, bytes())); }
  std::vector<T> Read() const {
    CheckCuda(cudaDeviceSynchronize());
    std::vector<T> values(count_);
    CheckCuda(cudaMemcpy(values.data(), data_, bytes(), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  size_t count_;
  T* data_ = nullptr;
};

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_DEVICE_ARRAY_H_
