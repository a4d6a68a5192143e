// How an expert lies in memory: the slices of its matrices in order, its parts, each beginning at a
// multiple of kAlignment; the bytes between them mean nothing. One arithmetic for stages, slots,
// arenas and plans. A plain value; sizes and offsets are in bytes.
#ifndef STRATA_CORE_GGUF_BLOB_LAYOUT_H_
#define STRATA_CORE_GGUF_BLOB_LAYOUT_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace strata {

class BlobLayout {
 public:
  static constexpr int64_t kAlignment = 256;

  // One more part.
  void Add(int64_t bytes) {
    offsets_.at(num_parts_++) = bytes_;
    bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  int num_parts() const { return num_parts_; }
  int64_t offset(int part) const { return offsets_[part]; }
  // Of all parts; the next blob may begin there.
  int64_t bytes() const { return bytes_; }

 private:
  std::array<int64_t, 3> offsets_ = {};
  int num_parts_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace strata

#endif  // STRATA_CORE_GGUF_BLOB_LAYOUT_H_
