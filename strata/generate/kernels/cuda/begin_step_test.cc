#include "strata/generate/kernels/cuda/begin_step.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/core/block_type.h"
#include "strata/generate/blocks/activation_form.h"
#include "strata/generate/blocks/decode.h"
#include "strata/generate/blocks/random_weights.h"
#include "strata/generate/kernels/cuda/block_codes.h"
#include "strata/generate/kernels/cuda/device_array.h"
#include "strata/generate/kernels/cuda/kernel_test.h"
#include "strata/generate/kernels/cuda/step_block.h"
#include "strata/generate/kernels/cuda/step_fault.h"
#include "strata/generate/kernels/vector_math.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

class BeginStepTest : public KernelTest {
 protected:
  static constexpr int kColumns = 512;
  static constexpr int kTokens = 9;

  // The device reads the block and the embedding from its own memory here; pinned memory has
  // addresses of the same kind.
  void Begin(const StepBlockLayout& layout, const std::vector<std::byte>& block,
             BeginStepTask task) {
    const DeviceArray<std::byte> device_block(block);
    task.layout = layout;
    task.block = device_block.data();
    ASSERT_TRUE(BeginStep(task, stream_).ok());
    FinishKernels();
  }
};

TEST_F(BeginStepTest, EmbedsTokensOfEveryType) {
  const DeviceArray<BlockTables> tables(std::vector<BlockTables>{MakeBlockTables()});
  const DeviceArray<int32_t> drawn(std::vector<int32_t>{0, 0, 6});
  for (const BlockTypeInfo& info : AllBlockTypes()) {
    if (!ActivationFormOf(info.type).has_value()) continue;
    const std::vector<std::byte> weights = RandomWeights(info.type, kTokens * kColumns, random_);
    for (const int shift : {0, 6}) {
      std::vector<std::byte> shifted(shift);
      shifted.insert(shifted.end(), weights.begin(), weights.end());
      shifted.resize(shifted.size() + 16);
      const DeviceArray<std::byte> data(shifted);
      const StepBlockLayout layout;
      std::vector<std::byte> memory(layout.bytes());
      StepBlock block(layout, memory.data());
      block.AddRow({.token = 8}, true);
      block.AddRow({.token = 1, .drawn_of = 2}, true);
      block.AddRow({.token = kTokens}, true);  // Not in the vocabulary.
      const DeviceArray<DeviceStep> step(1);
      const DeviceArray<float> x(3 * kColumns), rotary(1);
      const DeviceArray<uint32_t> fault_word(1);
      const float scale = shift == 0 ? 1.0f : 12.5f;
      Begin(layout, memory,
            {.num_rows = 3,
             .embedding = {.type = info.type,
                           .rows = kTokens,
                           .columns = kColumns,
                           .data = data.data() + shift,
                           .scale = scale,
                           .tables = tables.data()},
             .drawn = drawn.data(),
             .step = step.data(),
             .rotary = rotary.data(),
             .fault_word = fault_word.data(),
             .x = x.data()});
      const std::vector<float> found = x.Read();
      const int tokens[] = {8, 6, 0};
      const int64_t row_bytes = kColumns / info.block_weights * info.block_bytes;
      for (int row = 0; row < 3; ++row) {
        std::vector<float> expected(kColumns);
        DecodeRow(info.type, weights.data() + tokens[row] * row_bytes, absl::MakeSpan(expected));
        if (scale != 1.0f) Scale(scale, absl::MakeSpan(expected));
        for (int i = 0; i < kColumns; ++i) {
          ASSERT_EQ(f32::Bits(found[row * kColumns + i]), f32::Bits(expected[i]))
              << info.name << ", row " << row << ", value " << i;
        }
      }
    }
  }
}

TEST_F(BeginStepTest, TakesManyRowsInBlocks) {
  constexpr int kRows = 3 * kMaxRows + 5;
  const StepBlockLayout layout = {.max_page_patches = kMaxRows};
  std::vector<std::byte> memory(4 * layout.bytes());
  for (int i = 0; i < 4; ++i) {
    StepBlock block(layout, memory.data() + i * layout.bytes());
    for (int row = i * kMaxRows; row < std::min(kRows, (i + 1) * kMaxRows); ++row) {
      block.AddRow({.token = (row * 7) % kTokens, .position = row}, row == kRows - 1);
    }
    ASSERT_TRUE(block.PatchPage(i, reinterpret_cast<std::byte*>(uintptr_t{100} + i)));
  }
  const std::vector<float> weights = RandomValues(kTokens * kColumns);
  const DeviceArray<BlockTables> tables(std::vector<BlockTables>{MakeBlockTables()});
  const DeviceArray<float> data(weights), x(kRows * kColumns), rotary(1);
  const DeviceArray<std::byte*> page_table(4);
  const DeviceArray<DeviceStep> steps(4);
  const DeviceArray<int32_t> drawn(1);
  const DeviceArray<uint32_t> fault_word(std::vector<uint32_t>{5});
  Begin(layout, memory,
        {.num_rows = kRows,
         .embedding = {.type = BlockType::kF32,
                       .rows = kTokens,
                       .columns = kColumns,
                       .data = reinterpret_cast<const std::byte*>(data.data()),
                       .tables = tables.data()},
         .drawn = drawn.data(),
         .step = steps.data(),
         .rotary = rotary.data(),
         .page_table = page_table.data(),
         .fault_word = fault_word.data(),
         .x = x.data()});
  const std::vector<float> found = x.Read();
  for (int i = 0; i < kRows * kColumns; ++i) {
    const int token = i / kColumns * 7 % kTokens;
    ASSERT_EQ(f32::Bits(found[i]), f32::Bits(weights[token * kColumns + i % kColumns])) << i;
  }
  const std::vector<DeviceStep> found_steps = steps.Read();
  const auto pages = page_table.Read();
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(found_steps[i].num_rows, i < 3 ? kMaxRows : 5);
    EXPECT_EQ(found_steps[i].rows[4].position, i * kMaxRows + 4);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(pages[i]), 100 + static_cast<uintptr_t>(i));
  }
  EXPECT_EQ(found_steps[3].num_wanted, 1);
  EXPECT_EQ(fault_word.Read()[0], kNoFault);
}

TEST_F(BeginStepTest, BringsRowsAnglesAndPatches) {
  const StepBlockLayout layout = {.num_rotations = 2,
                                  .rotation_dims = {6, 32},
                                  .max_page_patches = 400,
                                  .max_expert_patches = 300};
  std::vector<std::byte> memory(layout.bytes());
  StepBlock block(layout, memory.data());
  for (int row = 0; row < kMaxRows; ++row) {
    block.AddRow({.token = row, .position = 100 + row, .first_page = row}, row % 3 == 0);
    block.Angles(0, row)[5] = 0.5f * row;
    block.Angles(1, row)[31] = 2.0f * row;
  }
  std::vector<std::byte*> pages(500);
  for (int i = 0; i < 399; ++i) {
    ASSERT_TRUE(block.PatchPage(499 - i, reinterpret_cast<std::byte*>(uintptr_t{1000} + i)));
  }
  using Entry = std::array<uint64_t, 4>;
  std::vector<Entry> entries(310, Entry{1, 2, 3, 4});
  for (uint64_t i = 0; i < 299; ++i) {
    const Entry entry = {i << 40, i + 1, i + 2, i + 3};
    ASSERT_TRUE(block.PatchExpert(
        static_cast<int64_t>(309 - i),
        absl::MakeConstSpan(reinterpret_cast<const std::byte*>(entry.data()), 32)));
  }
  const DeviceArray<BlockTables> tables(std::vector<BlockTables>{MakeBlockTables()});
  const DeviceArray<float> weights(RandomValues(16 * 32));
  const DeviceArray<std::byte*> page_table(pages);
  const DeviceArray<Entry> expert_table(entries);
  const DeviceArray<DeviceStep> step(1);
  const DeviceArray<float> x(16 * 32), rotary(layout.rotary_floats());
  const DeviceArray<int32_t> drawn(1);
  const DeviceArray<uint32_t> fault_word(std::vector<uint32_t>{5});
  Begin(layout, memory,
        {.num_rows = kMaxRows,
         .embedding = {.type = BlockType::kF32,
                       .rows = 16,
                       .columns = 32,
                       .data = reinterpret_cast<const std::byte*>(weights.data()),
                       .tables = tables.data()},
         .drawn = drawn.data(),
         .step = step.data(),
         .rotary = rotary.data(),
         .page_table = page_table.data(),
         .expert_table = reinterpret_cast<std::byte*>(expert_table.data()),
         .fault_word = fault_word.data(),
         .x = x.data()});

  const DeviceStep found = step.Read()[0];
  EXPECT_EQ(found.num_rows, kMaxRows);
  EXPECT_EQ(found.num_wanted, 6);
  EXPECT_EQ(found.wanted[5], 15);
  EXPECT_EQ(found.rows[15].position, 115);
  EXPECT_EQ(fault_word.Read()[0], kNoFault);
  EXPECT_EQ(rotary.Read()[15 * 6 + 5], 7.5f);
  EXPECT_EQ(rotary.Read()[layout.rotation_offset(1) + 15 * 32 + 31], 30.0f);
  const auto found_pages = page_table.Read();
  for (int i = 0; i < 500; ++i) {
    const uintptr_t expected = i >= 101 ? 1000 + 499 - i : 0;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(found_pages[i]), expected) << i;
  }
  const auto found_entries = expert_table.Read();
  for (uint64_t i = 0; i < 310; ++i) {
    const uint64_t n = 309 - i;
    const Entry expected = n < 299 ? Entry{n << 40, n + 1, n + 2, n + 3} : Entry{1, 2, 3, 4};
    EXPECT_EQ(found_entries[i], expected) << i;
  }
}

}  // namespace
}  // namespace strata
