// Makes GGUF files for tests and benchmarks: right ones, and wrong ones by pieces.
//
// Thread-compatible.
#ifndef STRATA_CORE_GGUF_GGUF_WRITER_H_
#define STRATA_CORE_GGUF_GGUF_WRITER_H_

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/string_view.h"
#include "strata/core/block_type.h"
#include "strata/core/gguf/gguf_value.h"

namespace strata {

// Little-endian bytes of a GGUF record, appended one after the other.
class GgufBytes {
 public:
  template <typename T>
  GgufBytes& Number(T value) {
    static_assert(std::is_arithmetic_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  GgufBytes& Type(GgufType type) { return Number(static_cast<uint32_t>(type)); }
  GgufBytes& String(absl::string_view text) {
    Number(uint64_t{text.size()});
    bytes_.append(text.data(), text.size());
    return *this;
  }
  GgufBytes& Raw(absl::string_view bytes) {
    bytes_.append(bytes.data(), bytes.size());
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class GgufWriter {
 public:
  // A key and its value. `value` holds the bytes after the type.
  GgufWriter& Key(absl::string_view key, GgufType type, const GgufBytes& value);
  GgufWriter& Key(absl::string_view key, uint32_t value);
  GgufWriter& Key(absl::string_view key, float value);
  GgufWriter& Key(absl::string_view key, bool value);
  GgufWriter& Key(absl::string_view key, absl::string_view value);
  GgufWriter& Key(absl::string_view key, const char* value);
  GgufWriter& Key(absl::string_view key, const std::vector<int32_t>& values);
  GgufWriter& Key(absl::string_view key, const std::vector<std::string>& values);

  // A tensor behind the ones before it, of a known type and whole blocks; its bytes are a pattern
  // that differs from tensor to tensor.
  GgufWriter& Tensor(absl::string_view name, BlockType type, const std::vector<int64_t>& dims);
  // The same with bytes of its own.
  GgufWriter& Tensor(absl::string_view name, BlockType type, const std::vector<int64_t>& dims,
                     absl::string_view bytes);

  // Written as the key general.alignment unless it is the default, 32.
  GgufWriter& set_alignment(uint32_t alignment);
  GgufWriter& set_version(uint32_t version);

  // The whole file.
  std::string Build() const;
  // Header and records alone, without the padding that follows.
  std::string BuildHeader() const;
  // Dies when the file cannot be written.
  void WriteTo(const std::string& path) const;

 private:
  void AddRecord(absl::string_view name, BlockType type, const std::vector<int64_t>& dims);

  uint32_t version_ = 3;
  uint32_t alignment_ = 32;
  uint64_t num_keys_ = 0;
  uint64_t num_tensors_ = 0;
  std::string keys_;
  std::string tensors_;
  std::string data_;
};

}  // namespace strata

#endif  // STRATA_CORE_GGUF_GGUF_WRITER_H_
