#include <cuda_runtime.h>

#include <cstddef>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/generate/numerics/numerics_sample.h"

namespace strata {
namespace {

__global__ void Sample(const NumericsInput* inputs, int n, NumericsSample* samples) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) samples[i] = SampleNumerics(inputs[i]);
}

// Device memory; data() is null when there was none.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t count) {
    if (cudaMalloc(&data_, count * sizeof(T)) != cudaSuccess) data_ = nullptr;
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return data_; }

 private:
  T* data_ = nullptr;
};

}  // namespace

absl::Status SampleNumericsOnDevice(absl::Span<const NumericsInput> inputs,
                                    absl::Span<NumericsSample> samples) {
  int num_devices = 0;
  if (cudaGetDeviceCount(&num_devices) != cudaSuccess || num_devices == 0) {
    return absl::UnavailableError("no CUDA device");
  }
  const DeviceArray<NumericsInput> device_inputs(inputs.size());
  const DeviceArray<NumericsSample> device_samples(inputs.size());
  if (device_inputs.data() == nullptr || device_samples.data() == nullptr) {
    return absl::ResourceExhaustedError("cudaMalloc found no memory");
  }
  cudaMemcpy(device_inputs.data(), inputs.data(), inputs.size() * sizeof(NumericsInput),
             cudaMemcpyHostToDevice);
  const int n = static_cast<int>(inputs.size());
  Sample<<<(n + 255) / 256, 256>>>(device_inputs.data(), n, device_samples.data());
  cudaMemcpy(samples.data(), device_samples.data(), inputs.size() * sizeof(NumericsSample),
             cudaMemcpyDeviceToHost);
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) return absl::InternalError(cudaGetErrorString(error));
  return absl::OkStatus();
}

}  // namespace strata
