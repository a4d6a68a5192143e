#include "strata/core/gguf/gguf_header.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/core/error.h"
#include "strata/core/gguf/gguf_cursor.h"
#include "strata/core/gguf/gguf_record.h"
#include "strata/core/gguf/gguf_tensor.h"
#include "strata/core/gguf/gguf_value.h"
#include "strata/core/printable.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

std::string TensorNamed(const GgufTensor& tensor) {
  return absl::StrCat("tensor '", Printable(tensor.name, 80), "'");
}

// Says where an error happened, for records that do not say it themselves.
absl::Status AboutRecord(absl::string_view record, uint64_t index, uint64_t count,
                         const absl::Status& status) {
  return About(absl::StrCat(record, " ", index + 1, " of ", count), status);
}

// Sets file_offset, which needs the start of the data.
absl::Status PlaceTensor(int64_t data_offset, int64_t alignment, int64_t file_bytes,
                         GgufTensor& tensor) {
  if (tensor.offset % alignment != 0) {
    return InputError("bad_offset", "",
                      absl::StrCat(TensorNamed(tensor), ": its offset ", tensor.offset,
                                   " is no multiple of the alignment ", alignment));
  }
  const int64_t room = file_bytes - data_offset;
  if (room < 0 || tensor.offset > room || tensor.bytes > room - tensor.offset) {
    return InputError("out_of_file", "",
                      absl::StrCat(TensorNamed(tensor), ": its ", tensor.bytes, " bytes begin ",
                                   tensor.offset, " bytes into the data, which begins at byte ",
                                   data_offset, " of a file of ", file_bytes, " bytes"));
  }
  tensor.file_offset = data_offset + tensor.offset;
  return absl::OkStatus();
}

// Tensors of no bytes share none, wherever they lie.
absl::Status CheckNoOverlap(absl::Span<const GgufTensor> tensors) {
  std::vector<uint32_t> by_offset;
  by_offset.reserve(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].bytes > 0) by_offset.push_back(static_cast<uint32_t>(i));
  }
  const auto less = [&](uint32_t a, uint32_t b) { return tensors[a].offset < tensors[b].offset; };
  if (!std::is_sorted(by_offset.begin(), by_offset.end(), less)) {
    std::sort(by_offset.begin(), by_offset.end(), less);
  }
  for (size_t i = 1; i < by_offset.size(); ++i) {
    const GgufTensor& before = tensors[by_offset[i - 1]];
    const GgufTensor& after = tensors[by_offset[i]];
    if (after.offset - before.offset < before.bytes) {
      return InputError("overlap", "",
                        absl::StrCat(TensorNamed(after), " begins at offset ", after.offset,
                                     ", inside ", TensorNamed(before), ", whose ", before.bytes,
                                     " bytes begin at ", before.offset));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int64_t> GgufHeader::MeasureHeader(absl::Span<const std::byte> file) {
  GgufCursor cursor(file);
  ASSIGN_OR_RETURN(const GgufPreamble preamble, ReadPreamble(cursor));
  for (uint64_t i = 0; i < preamble.num_keys; ++i) {
    const absl::StatusOr<GgufKey> key = ReadKey(cursor);
    if (!key.ok()) return AboutRecord("key", i, preamble.num_keys, key.status());
  }
  for (uint64_t i = 0; i < preamble.num_tensors; ++i) {
    const absl::StatusOr<GgufTensor> tensor = ReadTensor(cursor);
    if (!tensor.ok()) return AboutRecord("tensor", i, preamble.num_tensors, tensor.status());
  }
  return cursor.position();
}

absl::StatusOr<std::unique_ptr<GgufHeader>> GgufHeader::Parse(std::vector<std::byte> header,
                                                              int64_t file_bytes) {
  std::unique_ptr<GgufHeader> parsed(new GgufHeader(std::move(header)));
  RETURN_IF_ERROR(parsed->ReadRecords());
  RETURN_IF_ERROR(parsed->ReadAlignment());
  RETURN_IF_ERROR(parsed->PlaceTensors(file_bytes));
  return parsed;
}

absl::Status GgufHeader::ReadRecords() {
  GgufCursor cursor(bytes_);
  ASSIGN_OR_RETURN(const GgufPreamble preamble, ReadPreamble(cursor));
  version_ = preamble.version;
  keys_.reserve(preamble.num_keys);
  keys_by_name_.Reserve(preamble.num_keys);
  for (uint64_t i = 0; i < preamble.num_keys; ++i) {
    ASSIGN_OR_RETURN(const GgufKey key, ReadKey(cursor));
    keys_.push_back(key);
    if (!keys_by_name_.Insert(keys_.back())) {
      return InputError("duplicate_key", "",
                        absl::StrCat("key '", Printable(key.key, 80), "' is there twice"));
    }
  }
  tensors_.reserve(preamble.num_tensors);
  for (uint64_t i = 0; i < preamble.num_tensors; ++i) {
    ASSIGN_OR_RETURN(const GgufTensor tensor, ReadTensor(cursor));
    tensors_.push_back(tensor);
  }
  return absl::OkStatus();
}

absl::Status GgufHeader::ReadAlignment() {
  const GgufValue* const value = Find("general.alignment");
  if (value != nullptr) {
    if (value->type() != GgufType::kU32) {
      return InputError(
          "bad_alignment", "",
          absl::StrCat("general.alignment is of type ", NameOf(value->type()), ", not u32"));
    }
    const uint32_t alignment = static_cast<uint32_t>(*value->AsUint());
    if (!std::has_single_bit(alignment)) {
      return InputError("bad_alignment", "",
                        absl::StrCat("general.alignment is ", alignment, ", no power of two"));
    }
    alignment_ = alignment;
  }
  data_offset_ = (header_bytes() + alignment_ - 1) / alignment_ * alignment_;
  return absl::OkStatus();
}

absl::Status GgufHeader::PlaceTensors(int64_t file_bytes) {
  for (GgufTensor& tensor : tensors_) {
    RETURN_IF_ERROR(PlaceTensor(data_offset_, alignment_, file_bytes, tensor));
  }
  return CheckNoOverlap(tensors_);
}

const GgufValue* GgufHeader::Find(absl::string_view key) const {
  const GgufKey* const found = keys_by_name_.Find(key);
  return found == nullptr ? nullptr : &found->value;
}

std::vector<GgufTensor> GgufHeader::TakeTensors() { return std::move(tensors_); }

}  // namespace strata
