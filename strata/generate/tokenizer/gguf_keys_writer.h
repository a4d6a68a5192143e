// For tests: writes GGUF files of keys alone, right or wrong.
#ifndef STRATA_GENERATE_TOKENIZER_GGUF_KEYS_WRITER_H_
#define STRATA_GENERATE_TOKENIZER_GGUF_KEYS_WRITER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "strata/core/gguf/gguf_value.h"

namespace strata {

class GgufKeysWriter {
 public:
  void AddText(absl::string_view key, absl::string_view text);
  void AddFlag(absl::string_view key, bool flag);
  // Of any fixed-width type: `value`'s low bytes are stored.
  void AddNumber(absl::string_view key, GgufType type, uint64_t value);
  void AddTexts(absl::string_view key, const std::vector<std::string>& texts);
  void AddNumbers(absl::string_view key, GgufType type, const std::vector<uint64_t>& values);
  void AddFloats(absl::string_view key, const std::vector<float>& values);

  // The whole file.
  std::string Bytes() const;
  // Writes it below the test's folder and returns the path.
  std::string WriteFile(absl::string_view name) const;

 private:
  void StartKey(absl::string_view key, GgufType type);
  void AppendText(absl::string_view text);
  void AppendNumber(uint64_t value, int num_bytes);

  uint64_t num_keys_ = 0;
  std::string keys_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_TOKENIZER_GGUF_KEYS_WRITER_H_
