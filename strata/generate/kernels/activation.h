// Activations in the form that a weight type's dot product reads.
//
// F16, BF16 and F32 weights meet the f32 values themselves. Quantized weights meet int8 values in
// blocks of 32 (A32) or 256 (A256): q = round(x * (127 / max|x|)), always in [-127, 127], with
// the scale of each block and sums of q. Sums exist for weight types with a minimum: of each 32 in
// A32, of each 16 in A256. A block whose magnitudes are all below 2^-100 is zero with scale zero.
#ifndef STRATA_GENERATE_KERNELS_ACTIVATION_H_
#define STRATA_GENERATE_KERNELS_ACTIVATION_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "strata/generate/blocks/activation_form.h"
#include "strata/generate/kernels/aligned_memory.h"

namespace strata {

// One vector, borrowed. Three separate arrays, so that a vector load reads 16, 32 or 64 values of q
// in order; q starts on a 64-byte border when it comes from an ActivationBuffer.
struct ActivationView {
  ActivationForm form = ActivationForm::kF32;
  int64_t size = 0;               // Values; whole blocks.
  const float* values = nullptr;  // kF32 alone; the rest is null there.
  const int8_t* q = nullptr;
  const float* scales = nullptr;  // One a block.
  const int16_t* sums = nullptr;  // One per SumSizeOf(form) values.
};

// The quantizers. False when a value is NaN or infinite: the outputs are then undefined. x
// is whole blocks.
[[nodiscard]] bool QuantizeA32(absl::Span<const float> x, int8_t* q, float* scales, int16_t* sums);
[[nodiscard]] bool QuantizeA256(absl::Span<const float> x, int8_t* q, float* scales, int16_t* sums);

// Memory for one vector in some form, used again from vector to vector. Thread-compatible.
class ActivationBuffer {
 public:
  // Brings x into `form`; the size must be whole blocks. False when a value is NaN or infinite. In
  // kF32 the view borrows x itself, else the buffer's own memory; either way it holds until the
  // next call.
  [[nodiscard]] bool Assign(ActivationForm form, absl::Span<const float> x);

  // Assign in parts, which threads may share: Start makes room for x, whose values may still be to
  // come, and Convert brings [begin, end) of them into form; whole blocks, each once.
  void Start(ActivationForm form, absl::Span<const float> x);
  [[nodiscard]] bool Convert(int64_t begin, int64_t end);

  const ActivationView& view() const { return view_; }
  // Of its memory, and of that for a vector of `size` values.
  int64_t bytes() const { return capacity_bytes_; }
  static int64_t BytesFor(ActivationForm form, int64_t size);

 private:
  AlignedArray<std::byte> memory_;
  int64_t capacity_bytes_ = 0;
  const float* x_ = nullptr;
  // Those that the view shows, in memory_.
  int8_t* q_ = nullptr;
  float* scales_ = nullptr;
  int16_t* sums_ = nullptr;
  ActivationView view_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_ACTIVATION_H_
