#include "strata/core/gguf/gguf_mutator.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "glog/logging.h"
#include "strata/core/gguf/gguf_value.h"

namespace strata {
namespace {

constexpr size_t kTensorCountAt = 8;
constexpr size_t kKeyCountAt = 16;
constexpr size_t kFirstRecordAt = 24;

size_t Below(size_t bound, std::mt19937_64& random) {
  return bound == 0 ? 0 : static_cast<size_t>(random() % bound);
}

void AddToCount(std::string& file, size_t position, int64_t difference) {
  uint64_t count = 0;
  std::memcpy(&count, file.data() + position, sizeof count);
  count += static_cast<uint64_t>(difference);
  std::memcpy(file.data() + position, &count, sizeof count);
}

}  // namespace

GgufMutator::GgufMutator(std::string file) : file_(std::move(file)) { FindFields(); }

uint64_t GgufMutator::Number(size_t position, size_t bytes) const {
  CHECK_LE(position + bytes, file_.size());
  uint64_t number = 0;
  std::memcpy(&number, file_.data() + position, bytes);
  return number;
}

void GgufMutator::AddField(size_t& position, size_t bytes) {
  fields_.push_back({position, bytes});
  position += bytes;
}

void GgufMutator::AddString(size_t& position) {
  const uint64_t length = Number(position, 8);
  AddField(position, 8);
  position += length;
}

void GgufMutator::AddValue(uint32_t type, size_t& position) {
  const GgufType value_type = static_cast<GgufType>(type);
  if (value_type == GgufType::kString) {
    AddString(position);
  } else if (value_type == GgufType::kArray) {
    const uint32_t element_type = static_cast<uint32_t>(Number(position, 4));
    AddField(position, 4);
    const uint64_t count = Number(position, 8);
    AddField(position, 8);
    for (uint64_t i = 0; i < count; ++i) AddValue(element_type, position);
  } else {
    AddField(position, static_cast<size_t>(WidthOf(value_type)));
  }
}

void GgufMutator::FindFields() {
  size_t position = 4;
  AddField(position, 4);
  AddField(position, 8);
  AddField(position, 8);
  for (uint64_t i = 0; i < Number(kKeyCountAt, 8); ++i) {
    const size_t begin = position;
    AddString(position);
    const uint32_t type = static_cast<uint32_t>(Number(position, 4));
    AddField(position, 4);
    AddValue(type, position);
    keys_.push_back({begin, position - begin});
  }
  for (uint64_t i = 0; i < Number(kTensorCountAt, 8); ++i) {
    const size_t begin = position;
    AddString(position);
    const uint64_t num_dims = Number(position, 4);
    AddField(position, 4);
    for (uint64_t dim = 0; dim < num_dims; ++dim) AddField(position, 8);
    AddField(position, 4);
    AddField(position, 8);
    tensors_.push_back({begin, position - begin});
  }
  header_bytes_ = position;
}

uint64_t GgufMutator::Edge(size_t i, uint64_t was) const {
  const uint64_t size = file_.size();
  const uint64_t edges[kNumEdges] = {0,
                                     1,
                                     2,
                                     was + 1,
                                     was - 1,
                                     was * 2,
                                     0 - was,
                                     31,
                                     32,
                                     33,
                                     uint64_t{1} << 31,
                                     (uint64_t{1} << 31) - 1,
                                     uint64_t{1} << 32,
                                     (uint64_t{1} << 32) - 1,
                                     (uint64_t{1} << 32) + 1,
                                     uint64_t{1} << 59,
                                     uint64_t{1} << 61,
                                     uint64_t{1} << 62,
                                     uint64_t{1} << 63,
                                     (uint64_t{1} << 63) - 1,
                                     (uint64_t{1} << 63) - 32,
                                     ~uint64_t{0},
                                     ~uint64_t{0} - 31,
                                     size,
                                     size - 1,
                                     size + 1,
                                     size - header_bytes_,
                                     header_bytes_};
  return edges[i];
}

std::string GgufMutator::WithFieldChanged(size_t change) const {
  const Span& field = fields_[change / kNumEdges];
  const uint64_t number = Edge(change % kNumEdges, Number(field.begin, field.bytes));
  std::string file = file_;
  std::memcpy(file.data() + field.begin, &number, field.bytes);
  return file;
}

void GgufMutator::SetField(std::string& file, std::mt19937_64& random) const {
  const Span& field = fields_[Below(fields_.size(), random)];
  if (field.begin + field.bytes > file.size()) return;  // Cut off by an earlier change.
  uint64_t number = Edge(Below(kNumEdges, random), Number(field.begin, field.bytes));
  if (random() % 8 == 0) number = random() % (file_.size() + 1);
  if (random() % 8 == 0) number = random() % 64;
  std::memcpy(file.data() + field.begin, &number, field.bytes);
}

// Cuts out, repeats or swaps records. Data moves with what lies before it, unless the change keeps
// the file as long as it was.
void GgufMutator::ChangeRecords(std::string& file, std::mt19937_64& random) const {
  const bool of_keys = random() % 2 == 0;
  const std::vector<Span>& records = of_keys ? keys_ : tensors_;
  if (records.empty() || file.size() < header_bytes_) return;
  const Span a = records[Below(records.size(), random)];
  const Span b = records[Below(records.size(), random)];
  int64_t difference = 0;
  switch (random() % 3) {
    case 0:
      file.erase(a.begin, a.bytes);
      difference = -1;
      break;
    case 1:
      file.insert(b.begin, file_.substr(a.begin, a.bytes));
      difference = 1;
      break;
    default: {
      const Span& first = a.begin < b.begin ? a : b;
      const Span& second = a.begin < b.begin ? b : a;
      if (first.begin == second.begin) return;
      file.replace(second.begin, second.bytes, file_.substr(first.begin, first.bytes));
      file.replace(first.begin, first.bytes, file_.substr(second.begin, second.bytes));
      return;
    }
  }
  if (random() % 4 != 0) AddToCount(file, of_keys ? kKeyCountAt : kTensorCountAt, difference);
}

std::string GgufMutator::Mutate(std::mt19937_64& random) const {
  std::string file = file_;
  const size_t num_changes = 1 + Below(3, random);
  for (size_t i = 0; i < num_changes; ++i) {
    switch (random() % 8) {
      case 0:
        if (!file.empty()) file[Below(file.size(), random)] = static_cast<char>(random());
        break;
      case 1:
        if (file.size() >= kFirstRecordAt) ChangeRecords(file, random);
        break;
      case 2:
        if (random() % 4 == 0) file.resize(Below(file.size() + 1, random));
        break;
      default:
        SetField(file, random);
    }
  }
  return file;
}

}  // namespace strata
