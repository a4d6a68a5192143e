// Reads a model's keys by name and type, remembering the first thing that is wrong.
//
// Every Read leaves its target as it was when the key is absent, so a target's first value is the
// default. Errors are InputErrors of kind "key_type" (a key of another type than the model needs)
// or "hparams" (missing, negative, absurd, not finite). Thread-compatible.
#ifndef STRATA_CORE_GGUF_METADATA_READER_H_
#define STRATA_CORE_GGUF_METADATA_READER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_value.h"

namespace strata {

class MetadataReader {
 public:
  // Numbers past this are refused: the format's writers use 32 bits, and products of two of them
  // cannot overflow.
  static constexpr int64_t kMaxNumber = 0xffffffff;

  // Keys read are `prefix` and a dot and the name; with an empty prefix the name alone.
  MetadataReader(const GgufFile& file, absl::string_view prefix) : file_(file), prefix_(prefix) {}

  bool Has(absl::string_view name) const;
  // An error of kind "hparams" when the key is absent.
  void Require(absl::string_view name);

  void Read(absl::string_view name, int64_t& number);  // 0 to kMaxNumber.
  void Read(absl::string_view name, double& number);   // Finite.
  void Read(absl::string_view name, bool& flag);
  void Read(absl::string_view name, std::string& text);
  // From an array; a single value is an array of one.
  void Read(absl::string_view name, std::vector<int64_t>& numbers);
  void Read(absl::string_view name, std::vector<double>& numbers);
  // The same of numbers up to 2^64 - 1, which are no sizes.
  void ReadWide(absl::string_view name, std::vector<uint64_t>& numbers);
  // As Read; bools are read as 0 and 1.
  void ReadFlags(absl::string_view name, std::vector<int64_t>& flags);

  // Records an error of kind "hparams" about a key.
  void Refuse(absl::string_view name, absl::string_view message);

  // The first error, naming the key and the file.
  const absl::Status& status() const { return status_; }

 private:
  const GgufValue* Find(absl::string_view name) const;
  void Fail(absl::string_view kind, absl::string_view name, absl::string_view message);
  template <typename T>
  void ReadOne(absl::string_view name, T& target);
  template <typename T>
  void ReadMany(absl::string_view name, std::vector<T>& target);
  bool Convert(absl::string_view name, GgufValue value, int64_t& number);
  bool Convert(absl::string_view name, GgufValue value, uint64_t& number);
  bool Convert(absl::string_view name, GgufValue value, double& number);
  bool Convert(absl::string_view name, GgufValue value, bool& flag);
  bool Convert(absl::string_view name, GgufValue value, std::string& text);
  bool WrongType(absl::string_view name, GgufValue value, absl::string_view wanted);

  const GgufFile& file_;
  const std::string prefix_;
  absl::Status status_;
};

}  // namespace strata

#endif  // STRATA_CORE_GGUF_METADATA_READER_H_
