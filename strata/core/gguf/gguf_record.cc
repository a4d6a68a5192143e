#include "strata/core/gguf/gguf_record.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "strata/core/block_type.h"
#include "strata/core/error.h"
#include "strata/core/gguf/gguf_cursor.h"
#include "strata/core/gguf/gguf_tensor.h"
#include "strata/core/gguf/gguf_value.h"
#include "strata/core/printable.h"
#include "strata/core/status_macros.h"
#include "strata/core/utf8.h"

namespace strata {
namespace {

constexpr absl::string_view kMagic = "GGUF";

// The least bytes that records take. Key: length, one byte of name, type, a one-byte value. Tensor:
// length, one byte of name, number of dims, type, offset.
constexpr uint64_t kLeastKeyBytes = 8 + 1 + 4 + 1;
constexpr uint64_t kLeastTensorBytes = 8 + 1 + 4 + 4 + 8;

absl::Status Error(absl::string_view kind, absl::string_view message) {
  return InputError(kind, "", message);
}

std::string Quoted(absl::string_view name) { return absl::StrCat("'", Printable(name, 80), "'"); }

absl::Status CheckMagic(GgufCursor& cursor) {
  const size_t there = std::min<uint64_t>(kMagic.size(), cursor.bytes_left());
  const absl::string_view begin(reinterpret_cast<const char*>(cursor.data()), there);
  if (begin != kMagic.substr(0, there)) {
    return Error("bad_magic", absl::StrCat("not a GGUF file: it begins with ", Quoted(begin)));
  }
  return cursor.Skip(kMagic.size());
}

absl::Status CheckVersion(uint32_t version) {
  if (version == 2 || version == 3) return absl::OkStatus();
  if (version != 0 && (version & 0xffff) == 0) {
    return Error("endianness",
                 absl::StrCat("the file is big-endian (version ", __builtin_bswap32(version),
                              " in that byte order); only little-endian files are read"));
  }
  return Error("bad_version",
               absl::StrCat("GGUF version ", version, "; versions 2 and 3 are read"));
}

struct ArrayHead {
  GgufType element_type;
  uint64_t count;
};

absl::StatusOr<GgufType> ReadType(GgufCursor& cursor) {
  ASSIGN_OR_RETURN(const uint32_t id, cursor.Read<uint32_t>());
  if (!IsGgufType(id)) {
    return Error("bad_value_type", absl::StrCat("value type ", id, " is not defined"));
  }
  return static_cast<GgufType>(id);
}

uint64_t LeastBytes(GgufType type) {
  switch (type) {
    case GgufType::kString:
      return sizeof(uint64_t);
    case GgufType::kArray:
      return GgufArray::kHeadBytes;
    default:
      return static_cast<uint64_t>(WidthOf(type));
  }
}

absl::StatusOr<ArrayHead> ReadArrayHead(GgufCursor& cursor) {
  ASSIGN_OR_RETURN(const GgufType element_type, ReadType(cursor));
  ASSIGN_OR_RETURN(const uint64_t count, cursor.Read<uint64_t>());
  if (count > cursor.bytes_left() / LeastBytes(element_type)) {
    return Error("array_too_long",
                 absl::StrCat("an array of ", count, " ", NameOf(element_type), " at byte ",
                              cursor.position(), ", but ", cursor.bytes_left(),
                              " bytes are left in the file"));
  }
  return ArrayHead{element_type, count};
}

// `count` values that are no arrays; that they would fit at their least sizes is known.
absl::Status SkipValues(GgufCursor& cursor, GgufType type, uint64_t count) {
  if (type == GgufType::kString) {
    for (uint64_t i = 0; i < count; ++i) RETURN_IF_ERROR(cursor.ReadString().status());
    return absl::OkStatus();
  }
  const uint64_t bytes = count * static_cast<uint64_t>(WidthOf(type));
  const std::byte* const values = cursor.data();
  RETURN_IF_ERROR(cursor.Skip(bytes));
  if (type == GgufType::kBool) {
    const auto* bad =
        std::find_if(values, values + bytes, [](std::byte b) { return b > std::byte{1}; });
    if (bad != values + bytes) {
      return Error("bad_bool", absl::StrCat("a bool of value ", static_cast<int>(*bad)));
    }
  }
  return absl::OkStatus();
}

// An array with all that is nested in it, without recursion: pending[d] counts the arrays still to
// be read at depth d.
absl::Status SkipArray(GgufCursor& cursor) {
  std::array<uint64_t, kMaxGgufArrayDepth> pending;
  size_t depth = 0;
  pending[0] = 1;
  while (true) {
    if (pending[depth] == 0) {
      if (depth == 0) return absl::OkStatus();
      --depth;
      continue;
    }
    --pending[depth];
    ASSIGN_OR_RETURN(const ArrayHead head, ReadArrayHead(cursor));
    if (head.element_type != GgufType::kArray) {
      RETURN_IF_ERROR(SkipValues(cursor, head.element_type, head.count));
    } else if (depth + 1 == pending.size()) {
      return Error("nesting_too_deep", absl::StrCat("arrays nested more than ", pending.size(),
                                                    " deep at byte ", cursor.position()));
    } else {
      pending[++depth] = head.count;
    }
  }
}

absl::Status CheckKey(absl::string_view key) {
  if (key.empty()) return Error("bad_key", "a key is empty");
  if (key.size() > kMaxGgufKeyBytes) {
    return Error("bad_key",
                 absl::StrCat("a key of ", key.size(), " bytes; the most is ", kMaxGgufKeyBytes));
  }
  if (key.find('\0') != absl::string_view::npos || !IsUtf8(key)) {
    return Error("bad_key", absl::StrCat("key ", Quoted(key), " is not UTF-8 or has a zero byte"));
  }
  return absl::OkStatus();
}

absl::Status CheckTensorName(absl::string_view name) {
  if (name.empty()) return Error("bad_name", "a tensor's name is empty");
  if (name.size() > kMaxGgufTensorNameBytes) {
    return Error("bad_name", absl::StrCat("tensor name ", Quoted(name), " has ", name.size(),
                                          " bytes; the most is ", kMaxGgufTensorNameBytes));
  }
  if (name.find('\0') != absl::string_view::npos || !IsUtf8(name)) {
    return Error("bad_name",
                 absl::StrCat("tensor name ", Quoted(name), " is not UTF-8 or has a zero byte"));
  }
  return absl::OkStatus();
}

absl::Status ReadDims(GgufCursor& cursor, GgufTensor& tensor) {
  ASSIGN_OR_RETURN(const uint32_t num_dims, cursor.Read<uint32_t>());
  if (num_dims > GgufTensor::kMaxDims) {
    return Error("bad_dims",
                 absl::StrCat(num_dims, " dimensions; the most is ", GgufTensor::kMaxDims));
  }
  tensor.num_dims = static_cast<int>(num_dims);
  for (uint32_t i = 0; i < num_dims; ++i) {
    ASSIGN_OR_RETURN(const uint64_t dim, cursor.Read<uint64_t>());
    if (dim > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return Error("bad_dims", absl::StrCat("dimension ", i, " is ", dim, ", 2^63 or more"));
    }
    tensor.all_dims[i] = static_cast<int64_t>(dim);
  }
  return absl::OkStatus();
}

// The tensor's bytes by its type and dims. Dims whose product leaves 63 bits are refused even when
// another one is 0, so that products of dims never overflow later.
absl::StatusOr<int64_t> TensorBytes(const GgufTensor& tensor, const BlockTypeInfo& info) {
  if (tensor.all_dims[0] % info.block_weights != 0) {
    return Error("row_not_whole_blocks",
                 absl::StrCat("a row of ", tensor.all_dims[0], " weights is no multiple of the ",
                              info.block_weights, " that a block of ", info.name, " holds"));
  }
  int64_t product = 1;
  bool overflow = false;
  for (const int64_t dim : tensor.dims()) {
    overflow |= __builtin_mul_overflow(product, std::max<int64_t>(dim, 1), &product);
  }
  int64_t bytes = 0;
  overflow |= __builtin_mul_overflow(product / info.block_weights, info.block_bytes, &bytes);
  if (overflow) return Error("size_overflow", "the size in bytes leaves 63 bits");
  return tensor.num_elements() == 0 ? 0 : bytes;
}

absl::Status ReadTensorBody(GgufCursor& cursor, GgufTensor& tensor) {
  RETURN_IF_ERROR(ReadDims(cursor, tensor));
  ASSIGN_OR_RETURN(const uint32_t type, cursor.Read<uint32_t>());
  const BlockTypeInfo* const info = FindBlockType(type);
  if (info == nullptr) {
    // Forks number types of their own from here on.
    const absl::string_view hint = type >= 97 && type < 1024 ? "; a fork's own, by its number" : "";
    return Error("bad_type", absl::StrCat("block type ", type, " is unknown or withdrawn", hint));
  }
  tensor.type = info->type;
  ASSIGN_OR_RETURN(tensor.bytes, TensorBytes(tensor, *info));
  ASSIGN_OR_RETURN(const uint64_t offset, cursor.Read<uint64_t>());
  if (offset > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return Error("out_of_file", absl::StrCat("its offset is ", offset));
  }
  tensor.offset = static_cast<int64_t>(offset);
  return absl::OkStatus();
}

}  // namespace

absl::Status About(absl::string_view what, const absl::Status& status) {
  return InputError(ErrorKind(status), ErrorFile(status),
                    absl::StrCat(what, ": ", status.message()));
}

absl::StatusOr<GgufPreamble> ReadPreamble(GgufCursor& cursor) {
  GgufPreamble preamble;
  RETURN_IF_ERROR(CheckMagic(cursor));
  ASSIGN_OR_RETURN(const uint32_t version, cursor.Read<uint32_t>());
  RETURN_IF_ERROR(CheckVersion(version));
  preamble.version = static_cast<int>(version);
  ASSIGN_OR_RETURN(preamble.num_tensors, cursor.Read<uint64_t>());
  ASSIGN_OR_RETURN(preamble.num_keys, cursor.Read<uint64_t>());
  const uint64_t left = cursor.bytes_left();
  if (preamble.num_tensors > left / kLeastTensorBytes ||
      preamble.num_keys > left / kLeastKeyBytes) {
    return Error("count_too_large",
                 absl::StrCat(preamble.num_keys, " keys and ", preamble.num_tensors,
                              " tensors do not fit in the ", left, " bytes left in the file"));
  }
  return preamble;
}

absl::StatusOr<GgufKey> ReadKey(GgufCursor& cursor) {
  ASSIGN_OR_RETURN(const absl::string_view key, cursor.ReadString());
  RETURN_IF_ERROR(CheckKey(key));
  const absl::StatusOr<GgufType> type = ReadType(cursor);
  if (!type.ok()) return About(absl::StrCat("key ", Quoted(key)), type.status());
  const GgufValue value(*type, cursor.data());
  const absl::Status skipped =
      *type == GgufType::kArray ? SkipArray(cursor) : SkipValues(cursor, *type, 1);
  if (!skipped.ok()) return About(absl::StrCat("key ", Quoted(key)), skipped);
  return GgufKey{key, value};
}

absl::StatusOr<GgufTensor> ReadTensor(GgufCursor& cursor) {
  GgufTensor tensor;
  ASSIGN_OR_RETURN(tensor.name, cursor.ReadString());
  RETURN_IF_ERROR(CheckTensorName(tensor.name));
  const absl::Status body = ReadTensorBody(cursor, tensor);
  if (!body.ok()) return About(absl::StrCat("tensor ", Quoted(tensor.name)), body);
  return tensor;
}

}  // namespace strata
