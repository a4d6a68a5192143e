#include "strata/generate/kernels/cuda/step_block.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/generate/kernels/cuda/device_rows.h"

namespace strata {
namespace {

class StepBlockTest : public ::testing::Test {
 protected:
  template <typename T>
  T At(int64_t offset) const {
    T value;
    std::memcpy(&value, block() + offset, sizeof(value));
    return value;
  }
  std::byte* block() const { return const_cast<std::byte*>(memory_.data()->bytes); }

  const StepBlockLayout layout_ = {
      .num_rotations = 2, .rotation_dims = {64, 8}, .max_page_patches = 3, .max_expert_patches = 2};

 private:
  struct alignas(16) Word {
    std::byte bytes[16];
  };
  std::vector<Word> memory_ = std::vector<Word>(layout_.bytes() / 16);
};

TEST_F(StepBlockTest, NumbersTheRowsThatWantLogits) {
  StepBlock step(layout_, block());
  EXPECT_EQ(step.AddRow({.token = 7, .position = 3}, /*wants_logits=*/false), 0);
  EXPECT_EQ(step.AddRow({.token = 8, .position = 4}, /*wants_logits=*/true), 1);
  EXPECT_EQ(step.AddRow({.drawn_of = 5, .position = 9}, /*wants_logits=*/true), 2);
  const DeviceStep& header = *reinterpret_cast<const DeviceStep*>(block());
  EXPECT_EQ(header.num_rows, 3);
  EXPECT_EQ(header.num_wanted, 2);
  EXPECT_EQ(header.rows[0].logits_row, -1);
  EXPECT_EQ(header.rows[2].logits_row, 1);
  EXPECT_EQ(header.rows[2].drawn_of, 5);
  EXPECT_EQ(header.wanted[0], 1);
  EXPECT_EQ(header.wanted[1], 2);
}

TEST_F(StepBlockTest, IsEmptyAgainAfterClear) {
  StepBlock step(layout_, block());
  step.AddRow({.token = 7}, /*wants_logits=*/true);
  ASSERT_TRUE(step.PatchPage(1, nullptr));
  step.Clear();
  EXPECT_EQ(step.step().num_rows, 0);
  EXPECT_EQ(step.step().num_wanted, 0);
  EXPECT_EQ(step.step().num_page_patches, 0);
}

TEST_F(StepBlockTest, LaysRotationsOutByRow) {
  StepBlock step(layout_, block());
  step.Angles(0, 15)[63] = 1.5f;
  step.Angles(1, 2)[7] = 2.5f;
  const int64_t rotary = StepBlockLayout::rotary_bytes_offset();
  EXPECT_EQ(step.Angles(1, 0).size(), 8u);
  EXPECT_EQ(At<float>(rotary + 4 * (16 * 64 - 1)), 1.5f);
  EXPECT_EQ(At<float>(rotary + 4 * (16 * 64 + 2 * 8 + 7)), 2.5f);
}

TEST_F(StepBlockTest, RefusesPatchesThatHaveNoRoom) {
  StepBlock step(layout_, block());
  std::byte pages[3];
  std::array<std::byte, 32> entry = {};
  for (int i = 0; i < 32; ++i) entry[i] = static_cast<std::byte>(i);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(step.PatchPage(10 + i, &pages[i]));
  EXPECT_FALSE(step.PatchPage(13, pages));
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(step.PatchExpert(100 + i, entry));
  EXPECT_FALSE(step.PatchExpert(102, entry));

  const auto page_patch = At<PagePatch>(layout_.page_patches_offset() + 2 * sizeof(PagePatch));
  EXPECT_EQ(page_patch.index, 12);
  EXPECT_EQ(page_patch.address, &pages[2]);
  const auto patch = At<ExpertPatch>(layout_.expert_patches_offset() + sizeof(ExpertPatch));
  EXPECT_EQ(patch.index, 101);
  EXPECT_EQ(std::memcmp(patch.entry, entry.data(), 32), 0);
  EXPECT_EQ(step.step().num_page_patches, 3);
  EXPECT_EQ(step.step().num_expert_patches, 2);
}

}  // namespace
}  // namespace strata
