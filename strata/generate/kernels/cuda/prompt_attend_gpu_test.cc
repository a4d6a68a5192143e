// Attention of prompts on a card: close to a reference in double precision, and the same bits
// however a text is cut.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "strata/generate/blocks/random_weights.h"
#include "strata/generate/kernels/cuda/device_array.h"
#include "strata/generate/kernels/cuda/kv_page.h"
#include "strata/generate/kernels/cuda/prompt_attend.h"
#include "strata/generate/kernels/cuda/prompt_rows.h"
#include "strata/generate/kernels/cuda/prompt_testing.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

struct Shape {
  KvFormat format = KvFormat::kF16;
  int num_heads = 8;
  int num_kv_heads = 2;
  int key_size = 128;
  int value_size = 128;
  int64_t window = 0;
  bool has_sinks = false;
  int positions = 300;
};

// A sequence's keys and values on pages, and queries of all its positions.
class Text {
 public:
  explicit Text(const Shape& shape)
      : shape_(shape),
        kv_({shape.format, shape.num_kv_heads, shape.key_size, shape.value_size, 256}),
        page_bytes_(kv_.offset + kv_.bytes()),
        num_pages_((shape.positions + kKvPagePositions - 1) / kKvPagePositions),
        // What was never stored is not a number.
        pages_(num_pages_ * page_bytes_, std::byte{0xff}) {
    std::mt19937 random(3);
    for (int head = 0; head < shape.num_kv_heads; ++head) {
      for (int position = 0; position < shape.positions; ++position) {
        Store(kv_.keys_offset(head), shape.key_size, position, random);
        Store(kv_.values_offset(head), shape.value_size, position, random);
      }
    }
    queries_ =
        RandomActivations(int64_t{shape.positions} * shape.num_heads * shape.key_size, random);
    sinks_ = RandomActivations(shape.num_heads, random);
  }

  // Rows of positions [begin, end), [row][head][value]. What lies behind `end` was not stored.
  std::vector<float> Attend(int begin, int end) const {
    const int rows = end - begin;
    std::vector<std::byte> pages = pages_;
    for (int position = end; position < num_pages_ * kKvPagePositions; ++position) {
      for (int head = 0; head < shape_.num_kv_heads; ++head) {
        Forget(kv_.keys_offset(head), shape_.key_size, position, pages);
        Forget(kv_.values_offset(head), shape_.value_size, position, pages);
      }
    }
    const DeviceArray<std::byte> memory(pages);
    std::vector<std::byte*> addresses;
    for (int i = 0; i < num_pages_; ++i) addresses.push_back(memory.data() + i * page_bytes_);
    const DeviceArray<std::byte*> table(addresses);
    const int64_t query_size = int64_t{shape_.num_heads} * shape_.key_size;
    const DeviceArray<float> queries(std::vector<float>(queries_.begin() + begin * query_size,
                                                        queries_.begin() + end * query_size));
    const DeviceArray<float> sinks(sinks_);
    const DeviceForms out(rows, int64_t{shape_.num_heads} * shape_.value_size);
    const DeviceFault fault;
    PromptAttendTask task;
    task.runs.count = 1;
    task.runs.runs[0] = {
        .first_row = 0, .num_rows = rows, .first_position = begin, .first_page = 0};
    task.num_heads = shape_.num_heads;
    task.kv = kv_;
    task.scale = kScale;
    task.window = shape_.window;
    task.sinks = shape_.has_sinks ? sinks.data() : nullptr;
    task.page_table = table.data();
    task.queries = queries.data();
    task.out = out.forms();
    task.fault = fault.report();
    const auto status = AttendPromptRows(task, KernelStream());
    EXPECT_TRUE(status.ok()) << status;
    const std::vector<float> values = out.Values();
    EXPECT_EQ(fault.Read(), kNoFault);
    return values;
  }

  std::vector<double> Reference(int position, int head) const {
    const int kv_head = head / (shape_.num_heads / shape_.num_kv_heads);
    const int first =
        shape_.window > 0 ? std::max(0, position - static_cast<int>(shape_.window) + 1) : 0;
    std::vector<double> scores;
    double max = shape_.has_sinks ? sinks_[head] : -1e30;
    for (int key = first; key <= position; ++key) {
      double score = 0;
      for (int i = 0; i < shape_.key_size; ++i) {
        score +=
            double{queries_[(int64_t{position} * shape_.num_heads + head) * shape_.key_size + i]} *
            Load(kv_.keys_offset(kv_head), shape_.key_size, key, i);
      }
      scores.push_back(score * kScale);
      max = std::max(max, scores.back());
    }
    double sum = shape_.has_sinks ? std::exp(sinks_[head] - max) : 0;
    std::vector<double> out(shape_.value_size);
    for (int key = first; key <= position; ++key) {
      const double weight = std::exp(scores[key - first] - max);
      sum += weight;
      for (int i = 0; i < shape_.value_size; ++i) {
        out[i] += weight * Load(kv_.values_offset(kv_head), shape_.value_size, key, i);
      }
    }
    for (double& value : out) value /= sum;
    return out;
  }

  const Shape& shape() const { return shape_; }

 private:
  static constexpr float kScale = 0.09f;

  std::byte* RunOf(int64_t offset, int position, std::vector<std::byte>& pages) const {
    return pages.data() + position / kKvPagePositions * page_bytes_ + offset;
  }
  double Load(int64_t offset, int size, int position, int i) const {
    const std::byte* const run = pages_.data() + position / kKvPagePositions * page_bytes_ + offset;
    return LoadKvValue(shape_.format, run, size, position % kKvPagePositions, i);
  }
  void Store(int64_t offset, int size, int position, std::mt19937& random) {
    std::byte* const run = RunOf(offset, position, pages_);
    const int slot = position % kKvPagePositions;
    for (int i = 0; i < size; ++i) {
      const float value = RandomActivations(1, random)[0];
      if (shape_.format == KvFormat::kF32) reinterpret_cast<float*>(run)[slot * size + i] = value;
      if (shape_.format == KvFormat::kF16) {
        reinterpret_cast<uint16_t*>(run)[slot * size + i] = f32::ToF16(value);
      }
      if (shape_.format == KvFormat::kInt8) {
        reinterpret_cast<int8_t*>(run)[slot * size + i] = static_cast<int8_t>(random() % 255 - 127);
      }
    }
    if (shape_.format != KvFormat::kInt8) return;
    auto* const scales = reinterpret_cast<float*>(run + kKvPagePositions * size);
    for (int block = 0; block < KvScalesOf(size); ++block) {
      scales[slot * KvScalesOf(size) + block] = 0.001f * static_cast<float>(1 + random() % 40);
    }
  }
  void Forget(int64_t offset, int size, int position, std::vector<std::byte>& pages) const {
    std::byte* const run = RunOf(offset, position, pages);
    const int slot = position % kKvPagePositions;
    const int width = shape_.format == KvFormat::kF32 ? 4 : shape_.format == KvFormat::kF16 ? 2 : 1;
    std::memset(run + slot * size * width, 0xff, size * width);
    if (shape_.format != KvFormat::kInt8) return;
    const int bytes = KvScalesOf(size) * 4;
    std::memset(run + kKvPagePositions * size + slot * bytes, 0xff, bytes);
  }

  const Shape shape_;
  const KvLayer kv_;
  const int64_t page_bytes_;
  const int num_pages_;
  std::vector<std::byte> pages_;
  std::vector<float> queries_, sinks_;
};

std::vector<Shape> Shapes() {
  std::vector<Shape> shapes;
  for (const KvFormat format : {KvFormat::kF16, KvFormat::kInt8, KvFormat::kF32}) {
    shapes.push_back({.format = format});
    shapes.push_back({.format = format, .window = 70, .has_sinks = true});
    shapes.push_back({.format = format, .num_heads = 4, .key_size = 64, .value_size = 64});
    shapes.push_back({.format = format, .num_heads = 6, .key_size = 192, .value_size = 128});
    shapes.push_back(
        {.format = format, .num_heads = 2, .key_size = 40, .value_size = 72, .has_sinks = true});
  }
  return shapes;
}

class PromptAttendTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasCudaDevice()) GTEST_SKIP() << "no CUDA device";
  }
};

TEST_F(PromptAttendTest, IsCloseToAReferenceInDoublePrecision) {
  for (const Shape& shape : Shapes()) {
    const Text text(shape);
    const std::vector<float> found = text.Attend(0, shape.positions);
    for (int position = 0; position < shape.positions; position += 7) {
      for (int head = 0; head < shape.num_heads; ++head) {
        const std::vector<double> expected = text.Reference(position, head);
        double norm = 0, error = 0;
        for (int i = 0; i < shape.value_size; ++i) {
          const double value =
              found[(int64_t{position} * shape.num_heads + head) * shape.value_size + i];
          norm += expected[i] * expected[i];
          error += (value - expected[i]) * (value - expected[i]);
        }
        // Scores of up to hundreds carry the truncation of tensor cores into the exponent; a term
        // less would be 3e-3 off.
        ASSERT_LE(std::sqrt(error), 2e-4 * std::sqrt(norm) + 1e-30)
            << "format " << static_cast<int>(shape.format) << ", keys of " << shape.key_size
            << ", window " << shape.window << ", position " << position << ", head " << head;
      }
    }
  }
}

TEST_F(PromptAttendTest, HasTheSameBitsHoweverATextIsCut) {
  for (const Shape& shape : Shapes()) {
    const Text text(shape);
    const std::vector<float> whole = text.Attend(0, shape.positions);
    for (const int piece : {1, 17, 64, 100, 257}) {
      std::vector<float> pieces;
      // One row at a time would take long: the first ones and the last.
      for (int begin = 0; begin < shape.positions; begin += piece) {
        const int end = std::min(shape.positions, begin + piece);
        const size_t size = size_t{1} * shape.num_heads * shape.value_size;
        if (piece == 1 && begin > 3 && begin < shape.positions - 3) {
          pieces.insert(pieces.end(), whole.begin() + begin * size, whole.begin() + end * size);
          continue;
        }
        const std::vector<float> part = text.Attend(begin, end);
        pieces.insert(pieces.end(), part.begin(), part.end());
      }
      ASSERT_EQ(std::memcmp(pieces.data(), whole.data(), whole.size() * sizeof(float)), 0)
          << "pieces of " << piece << ", format " << static_cast<int>(shape.format) << ", keys of "
          << shape.key_size << ", window " << shape.window;
    }
  }
}

}  // namespace
}  // namespace strata
