#include "strata/core/gguf/gguf_writer.h"

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "strata/core/block_type.h"
#include "strata/core/gguf/gguf_value.h"

namespace strata {
namespace {

void PadTo(uint32_t alignment, std::string& bytes) {
  bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
}

int64_t NumBytes(BlockType type, const std::vector<int64_t>& dims) {
  int64_t elements = 1;
  for (const int64_t dim : dims) elements *= dim;
  const BlockTypeInfo& info = InfoOf(type);
  return elements / info.block_weights * info.block_bytes;
}

}  // namespace

GgufWriter& GgufWriter::Key(absl::string_view key, GgufType type, const GgufBytes& value) {
  keys_ += GgufBytes().String(key).Type(type).Raw(value.bytes()).bytes();
  ++num_keys_;
  return *this;
}

GgufWriter& GgufWriter::Key(absl::string_view key, uint32_t value) {
  return Key(key, GgufType::kU32, GgufBytes().Number(value));
}

GgufWriter& GgufWriter::Key(absl::string_view key, float value) {
  return Key(key, GgufType::kF32, GgufBytes().Number(value));
}

GgufWriter& GgufWriter::Key(absl::string_view key, bool value) {
  return Key(key, GgufType::kBool, GgufBytes().Number(static_cast<uint8_t>(value)));
}

GgufWriter& GgufWriter::Key(absl::string_view key, absl::string_view value) {
  return Key(key, GgufType::kString, GgufBytes().String(value));
}

GgufWriter& GgufWriter::Key(absl::string_view key, const char* value) {
  return Key(key, absl::string_view(value));
}

GgufWriter& GgufWriter::Key(absl::string_view key, const std::vector<int32_t>& values) {
  GgufBytes bytes;
  bytes.Type(GgufType::kI32).Number(uint64_t{values.size()});
  for (const int32_t value : values) bytes.Number(value);
  return Key(key, GgufType::kArray, bytes);
}

GgufWriter& GgufWriter::Key(absl::string_view key, const std::vector<std::string>& values) {
  GgufBytes bytes;
  bytes.Type(GgufType::kString).Number(uint64_t{values.size()});
  for (const std::string& value : values) bytes.String(value);
  return Key(key, GgufType::kArray, bytes);
}

void GgufWriter::AddRecord(absl::string_view name, BlockType type,
                           const std::vector<int64_t>& dims) {
  PadTo(alignment_, data_);
  GgufBytes record;
  record.String(name).Number(static_cast<uint32_t>(dims.size()));
  for (const int64_t dim : dims) record.Number(static_cast<uint64_t>(dim));
  record.Number(static_cast<uint32_t>(type)).Number(uint64_t{data_.size()});
  tensors_ += record.bytes();
  ++num_tensors_;
}

GgufWriter& GgufWriter::Tensor(absl::string_view name, BlockType type,
                               const std::vector<int64_t>& dims) {
  AddRecord(name, type, dims);
  const int64_t num_bytes = NumBytes(type, dims);
  for (int64_t i = 0; i < num_bytes; ++i) {
    data_ += static_cast<char>(static_cast<uint64_t>(i) * 31 + num_tensors_ * 7);
  }
  return *this;
}

GgufWriter& GgufWriter::Tensor(absl::string_view name, BlockType type,
                               const std::vector<int64_t>& dims, absl::string_view bytes) {
  CHECK_EQ(static_cast<int64_t>(bytes.size()), NumBytes(type, dims)) << name;
  AddRecord(name, type, dims);
  data_.append(bytes.data(), bytes.size());
  return *this;
}

GgufWriter& GgufWriter::set_alignment(uint32_t alignment) {
  CHECK_EQ(num_tensors_, 0u);
  alignment_ = alignment;
  return Key("general.alignment", alignment);
}

GgufWriter& GgufWriter::set_version(uint32_t version) {
  version_ = version;
  return *this;
}

std::string GgufWriter::BuildHeader() const {
  GgufBytes header;
  header.Raw("GGUF").Number(version_).Number(num_tensors_).Number(num_keys_);
  return header.Raw(keys_).Raw(tensors_).bytes();
}

std::string GgufWriter::Build() const {
  std::string file = BuildHeader();
  if (num_tensors_ > 0) PadTo(alignment_, file);
  return file + data_;
}

void GgufWriter::WriteTo(const std::string& path) const {
  std::ofstream stream(path, std::ios::binary);
  stream << Build();
  stream.close();
  PCHECK(stream.good()) << path;
}

}  // namespace strata
