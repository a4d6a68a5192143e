#include "strata/generate/cpu/snapshot_list.h"

#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace strata {
namespace {

using ::testing::UnorderedElementsAre;

const int kA = 0, kB = 0;  // Two sequences.

TEST(SnapshotListTest, FindsTheLastOneUpToAPosition) {
  SnapshotList list;
  list.Add({.owner = &kA, .position = 256, .buffer = 1});
  list.Add({.owner = &kA, .position = 512, .buffer = 2});
  list.Add({.owner = &kB, .position = 400, .buffer = 3});
  EXPECT_EQ(list.Find(&kA, 511)->buffer, 1);
  EXPECT_EQ(list.Find(&kA, 512)->buffer, 2);
  EXPECT_EQ(list.Find(&kA, 255), nullptr);
  EXPECT_EQ(list.Find(&kB, 1000)->buffer, 3);
}

TEST(SnapshotListTest, ForgetsThoseOfASequenceBehindAPosition) {
  SnapshotList list;
  for (int64_t position : {100, 200, 300}) {
    list.Add({.owner = &kA, .position = position, .buffer = static_cast<int>(position)});
  }
  list.Add({.owner = &kB, .position = 300, .buffer = 0});
  std::vector<int> removed;
  list.RemoveBehind(&kA, 100, [&](const SnapshotList::Snapshot& snapshot) {
    removed.push_back(snapshot.buffer);
  });
  EXPECT_THAT(removed, UnorderedElementsAre(200, 300));
  EXPECT_EQ(list.size(), 2);
  EXPECT_EQ(list.Find(&kB, 300)->buffer, 0);
}

// Positions that are left when a text of `length` tokens had room for `room` snapshots, a grid of
// 256 apart.
std::vector<int64_t> LeftOf(int64_t length, int room, int64_t mark) {
  SnapshotList list;
  for (int64_t position = 256; position <= length; position += 256) {
    if (list.size() == room) list.RemoveCheapest();
    list.Add({.owner = &kA, .position = position, .is_mark = position == mark});
  }
  std::vector<int64_t> left;
  for (int64_t position = 0; position <= length; position += 256) {
    const SnapshotList::Snapshot* const found = list.Find(&kA, position);
    if (found != nullptr && found->position == position) left.push_back(position);
  }
  return left;
}

TEST(SnapshotListTest, KeepsOnesThatLieFurtherApartTheOlderTheyAre) {
  const std::vector<int64_t> left = LeftOf(64 * 256, 6, /*mark=*/0);
  ASSERT_EQ(left.size(), 6);
  EXPECT_EQ(left.back(), 64 * 256);
  EXPECT_EQ(left[5] - left[4], 256);
  EXPECT_GT(left[1] - left[0], 2 * (left[5] - left[4]));
  EXPECT_GT(left[0], 0);
}

TEST(SnapshotListTest, KeepsMarksLonger) {
  EXPECT_THAT(LeftOf(6 * 256, 3, /*mark=*/0), ::testing::Not(::testing::Contains(2 * 256)));
  EXPECT_THAT(LeftOf(6 * 256, 3, /*mark=*/2 * 256), ::testing::Contains(2 * 256));
}

TEST(SnapshotListTest, WhatWasGoneBackToIsAsGoodAsNew) {
  SnapshotList list;
  list.Add({.owner = &kA, .position = 256, .buffer = 1});
  list.Add({.owner = &kB, .position = 256, .buffer = 2});
  list.Add({.owner = &kB, .position = 512, .buffer = 3});
  list.Find(&kA, 300);
  EXPECT_EQ(list.RemoveCheapest(), 2);
}

}  // namespace
}  // namespace strata
