// The instructions as the PTX manual describes them, one lane at a time: fragments are loaded from
// where prompt_fragments.h says and must give plain products.
#include "strata/generate/kernels/cuda/prompt_fragments.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace strata {
namespace {

constexpr int kLanes = 32;
using Registers = std::array<std::array<uint32_t, 4>, kLanes>;
using Results = std::array<std::array<int64_t, 4>, kLanes>;

// ldmatrix.x4: lane l gets two halves of row l / 4 of each matrix, or of column l / 4.
template <typename OffsetOf>
Registers LoadMatrices(const uint8_t* memory, OffsetOf offset_of, bool transposed) {
  Registers registers = {};
  for (int matrix = 0; matrix < 4; ++matrix) {
    uint16_t halves[8][8];
    for (int row = 0; row < 8; ++row) {
      std::memcpy(halves[row], memory + offset_of(8 * matrix + row), 16);
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      const int g = lane / 4, t = lane % 4;
      const uint32_t low = transposed ? halves[2 * t][g] : halves[g][2 * t];
      const uint32_t high = transposed ? halves[2 * t + 1][g] : halves[g][2 * t + 1];
      registers[lane][matrix] = low | high << 16;
    }
  }
  return registers;
}

int32_t ByteOf(uint32_t word, int i) { return static_cast<int8_t>(word >> 8 * i); }
int32_t HalfOf(uint32_t word, int i) { return static_cast<int16_t>(word >> 16 * i); }

// The manual's layouts: element i of a fragment is at these rows and columns. Numbers of a register
// are 4 bytes or 2 halves, which stand for integers here.
struct Multiplier {
  bool bytes = true;
  int runs = 2;  // Of 16 bytes in k.

  int PerRegister() const { return bytes ? 4 : 2; }
  int Number(uint32_t word, int i) const { return bytes ? ByteOf(word, i) : HalfOf(word, i); }

  // `a` has two registers for each run, b one.
  Results Multiply(const Registers& a, const std::array<std::array<uint32_t, 2>, kLanes>& b) const {
    const int n = PerRegister();
    std::vector<std::vector<int32_t>> left(16, std::vector<int32_t>(4 * n * runs));
    std::vector<std::vector<int32_t>> right(4 * n * runs, std::vector<int32_t>(8));
    for (int lane = 0; lane < kLanes; ++lane) {
      const int g = lane / 4, t = lane % 4;
      for (int run = 0; run < runs; ++run) {
        for (int i = 0; i < n; ++i) {
          const int k = 4 * n * run + n * t + i;
          left[g][k] = Number(a[lane][2 * run], i);
          left[g + 8][k] = Number(a[lane][2 * run + 1], i);
          right[k][g] = Number(b[lane][run], i);
        }
      }
    }
    Results results;
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int i = 0; i < 4; ++i) {
        const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
        results[lane][i] = 0;
        for (size_t k = 0; k < right.size(); ++k) {
          results[lane][i] += int64_t{left[row][k]} * right[k][column];
        }
      }
    }
    return results;
  }
};

std::array<std::array<uint32_t, 2>, kLanes> BOf(const Registers& registers, int which) {
  std::array<std::array<uint32_t, 2>, kLanes> b;
  for (int lane = 0; lane < kLanes; ++lane) {
    b[lane] = {registers[lane][2 * which], registers[lane][2 * which + 1]};
  }
  return b;
}

std::vector<uint8_t> RandomBytes(size_t count) {
  std::mt19937 random(1);
  std::vector<uint8_t> bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

TEST(PromptFragmentsTest, LoadsRowsOfBytesOfBothOperands) {
  constexpr int kStride = 48;
  const std::vector<uint8_t> a = RandomBytes(16 * kStride), b = RandomBytes(16 * kStride);
  const auto a_at = [](int lane) { return OffsetInA(lane, kStride); };
  const auto b_at = [](int lane) { return OffsetInTwoBs(lane, kStride); };
  const Registers left = LoadMatrices(a.data(), a_at, false);
  const Registers right = LoadMatrices(b.data(), b_at, false);
  for (int which = 0; which < 2; ++which) {
    const Results results = Multiplier{true, 2}.Multiply(left, BOf(right, which));
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int i = 0; i < 4; ++i) {
        const int row = lane / 4 + i / 2 * 8, column = 8 * which + lane % 4 * 2 + i % 2;
        int64_t expected = 0;
        for (int k = 0; k < 32; ++k) {
          expected += static_cast<int8_t>(a[row * kStride + k]) *
                      static_cast<int8_t>(b[column * kStride + k]);
        }
        ASSERT_EQ(results[lane][i], expected) << lane << ", " << i;
      }
    }
  }
}

TEST(PromptFragmentsTest, TransposesRowsOfHalves) {
  constexpr int kStride = 48;  // 16 columns of halves, padded.
  const std::vector<uint8_t> a = RandomBytes(16 * kStride), b = RandomBytes(16 * kStride);
  const auto a_at = [](int lane) { return OffsetInA(lane, kStride); };
  const auto b_at = [](int lane) { return OffsetInTwoTransposedBs(lane, kStride); };
  const Registers left = LoadMatrices(a.data(), a_at, false);
  const Registers right = LoadMatrices(b.data(), b_at, true);
  const auto half_at = [](const std::vector<uint8_t>& bytes, int row, int column) {
    int16_t half;
    std::memcpy(&half, &bytes[row * kStride + 2 * column], sizeof(half));
    return int64_t{half};
  };
  for (int which = 0; which < 2; ++which) {
    const Results results = Multiplier{false, 2}.Multiply(left, BOf(right, which));
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int i = 0; i < 4; ++i) {
        const int row = lane / 4 + i / 2 * 8, column = 8 * which + lane % 4 * 2 + i % 2;
        int64_t expected = 0;
        for (int k = 0; k < 16; ++k) {
          expected += half_at(a, row, k) * half_at(b, k, column);
        }
        ASSERT_EQ(results[lane][i], expected) << lane << ", " << i;
      }
    }
  }
}

}  // namespace
}  // namespace strata
