#include "strata/generate/tokenizer/gguf_keys_writer.h"

#include <bit>
#include <cstdlib>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"

namespace strata {
namespace {

std::string LittleEndian(uint64_t value, int num_bytes) {
  std::string bytes;
  for (int i = 0; i < num_bytes; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
  return bytes;
}

}  // namespace

void GgufKeysWriter::AddText(absl::string_view key, absl::string_view text) {
  StartKey(key, GgufType::kString);
  AppendText(text);
}

void GgufKeysWriter::AddFlag(absl::string_view key, bool flag) {
  AddNumber(key, GgufType::kBool, flag ? 1 : 0);
}

void GgufKeysWriter::AddNumber(absl::string_view key, GgufType type, uint64_t value) {
  StartKey(key, type);
  AppendNumber(value, WidthOf(type));
}

void GgufKeysWriter::AddTexts(absl::string_view key, const std::vector<std::string>& texts) {
  StartKey(key, GgufType::kArray);
  AppendNumber(static_cast<uint64_t>(GgufType::kString), 4);
  AppendNumber(texts.size(), 8);
  for (const std::string& text : texts) AppendText(text);
}

void GgufKeysWriter::AddNumbers(absl::string_view key, GgufType type,
                                const std::vector<uint64_t>& values) {
  StartKey(key, GgufType::kArray);
  AppendNumber(static_cast<uint64_t>(type), 4);
  AppendNumber(values.size(), 8);
  for (const uint64_t value : values) AppendNumber(value, WidthOf(type));
}

void GgufKeysWriter::AddFloats(absl::string_view key, const std::vector<float>& values) {
  std::vector<uint64_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<uint32_t>(value));
  AddNumbers(key, GgufType::kF32, bits);
}

std::string GgufKeysWriter::Bytes() const {
  constexpr int kVersion = 3;
  return absl::StrCat("GGUF", LittleEndian(kVersion, 4), LittleEndian(0, 8),
                      LittleEndian(num_keys_, 8), keys_);
}

std::string GgufKeysWriter::WriteFile(absl::string_view name) const {
  const char* folder = std::getenv("TEST_TMPDIR");
  std::string path = absl::StrCat(folder == nullptr ? "/tmp" : folder, "/", name);
  std::ofstream file(path, std::ios::binary);
  file << Bytes();
  CHECK(file.flush()) << path;
  return path;
}

void GgufKeysWriter::StartKey(absl::string_view key, GgufType type) {
  ++num_keys_;
  AppendText(key);
  AppendNumber(static_cast<uint64_t>(type), 4);
}

void GgufKeysWriter::AppendText(absl::string_view text) {
  AppendNumber(text.size(), 8);
  keys_.append(text.data(), text.size());
}

void GgufKeysWriter::AppendNumber(uint64_t value, int num_bytes) {
  keys_ += LittleEndian(value, num_bytes);
}

}  // namespace strata
