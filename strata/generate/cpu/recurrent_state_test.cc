#include "strata/generate/cpu/recurrent_state.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "strata/generate/cpu/recurrent_pool.h"

namespace strata {
namespace {

constexpr int64_t kValues = 16;
constexpr int64_t kStateBytes = kValues * int64_t{sizeof(float)};

// A text whose state after position p is p: what a layer would do.
class Text {
 public:
  explicit Text(RecurrentPool& pool) : state(pool) {}

  void Feed(int64_t count, bool ends_prompt = false) {
    const int64_t begin = state.position();
    ExpectState();
    state.Begin(begin + count, ends_prompt);
    for (int64_t position = begin; position < begin + count; ++position) {
      const int buffer = state.SnapshotAfter(position);
      if (buffer == RecurrentPool::kNoBuffer) continue;
      Write(position + 1, state.Snapshot(buffer, 0));
    }
    Write(begin + count, state.After(0));
    state.Commit();
    ExpectState();
  }

  int64_t Rewind(int64_t position) {
    const int64_t at = state.Rewind(position);
    ExpectState();
    return at;
  }

  void ExpectState() {
    const float* const before = state.Before(0);
    if (state.position() == 0) {
      EXPECT_EQ(before, nullptr);
    } else {
      EXPECT_EQ(before[kValues - 1], static_cast<float>(state.position()));
    }
  }

  RecurrentState state;

 private:
  static void Write(int64_t position, float* values) {
    std::fill_n(values, kValues, static_cast<float>(position));
  }
};

TEST(RecurrentStateTest, GoesBackToTheEndOfAPromptAndShortlyBeforeIt) {
  RecurrentPool pool({kValues}, 100 * kStateBytes);
  Text text(pool);
  text.Feed(50);
  text.Feed(50, /*ends_prompt=*/true);
  for (int i = 0; i < 30; ++i) text.Feed(1);
  EXPECT_EQ(text.Rewind(120), 100);
  text.Feed(20);
  EXPECT_EQ(text.Rewind(99), 84);
  text.Feed(1);
  EXPECT_EQ(text.Rewind(83), 50);  // The end of the first step.
  EXPECT_EQ(text.Rewind(49), 0);
}

TEST(RecurrentStateTest, GoesBackToTheGridOfALongText) {
  RecurrentPool pool({kValues}, 100 * kStateBytes);
  Text text(pool);
  text.Feed(1000);
  text.Feed(500);
  EXPECT_EQ(text.Rewind(1300), 1280);
  EXPECT_EQ(text.Rewind(1279), 1024);
  EXPECT_EQ(text.Rewind(255), 0);
}

TEST(RecurrentStateTest, GoesBackByOneStepWithoutASnapshot) {
  RecurrentPool pool({kValues}, 0);
  Text text(pool);
  text.Feed(10, /*ends_prompt=*/true);
  text.Feed(5);
  EXPECT_EQ(text.Rewind(12), 10);
  EXPECT_EQ(text.Rewind(9), 0);
  EXPECT_EQ(pool.snapshot_bytes(), 0);
}

TEST(RecurrentStateTest, RemembersWhereItWasGoneBackTo) {
  RecurrentPool pool({kValues}, 100 * kStateBytes);
  Text text(pool);
  text.Feed(200);
  EXPECT_EQ(text.Rewind(77), 0);  // A prefix that texts share.
  text.Feed(150);
  EXPECT_EQ(text.Rewind(77), 77);
  text.Feed(60);
  text.Feed(1);
  EXPECT_EQ(text.Rewind(100), 77);
}

TEST(RecurrentStateTest, AStepThatFailsChangesNothing) {
  RecurrentPool pool({kValues}, 100 * kStateBytes);
  Text text(pool);
  text.Feed(20, /*ends_prompt=*/true);
  text.state.Begin(600, /*ends_prompt=*/true);
  std::fill_n(text.state.After(0), kValues, -1.0f);
  text.state.Abandon();
  EXPECT_EQ(text.state.position(), 20);
  text.ExpectState();
  text.Feed(1);
  EXPECT_EQ(text.Rewind(20), 20);
  EXPECT_EQ(text.Rewind(19), 4);
}

TEST(RecurrentStateTest, SnapshotsOfAllSequencesShareOneBound) {
  RecurrentPool pool({kValues, 0, kValues}, 5 * 2 * kStateBytes);
  EXPECT_EQ(pool.state_bytes(), 2 * kStateBytes);
  EXPECT_EQ(pool.max_snapshots(), 5);
  {
    Text a(pool), b(pool);
    for (Text* text : {&a, &b, &a}) {
      text->Feed(2000, /*ends_prompt=*/true);
      EXPECT_LE(pool.snapshot_bytes(), 5 * pool.state_bytes());
    }
    EXPECT_EQ(pool.snapshot_bytes(), 5 * pool.state_bytes());
    EXPECT_EQ(a.Rewind(3999), 3984);
    EXPECT_EQ(b.Rewind(0), 0);
  }
  // Both are gone, and others use their memory.
  const int64_t bytes = pool.bytes();
  EXPECT_EQ(pool.snapshot_bytes(), 0);
  Text c(pool);
  c.Feed(2000, /*ends_prompt=*/true);
  EXPECT_EQ(pool.bytes(), bytes);
}

TEST(RecurrentStateTest, WithoutAStateItIsAPosition) {
  RecurrentPool pool({0, 0}, 100);
  RecurrentState state(pool);
  state.Begin(300, /*ends_prompt=*/true);
  state.Commit();
  EXPECT_EQ(state.Rewind(123), 123);
  EXPECT_EQ(pool.bytes(), 0);
}

}  // namespace
}  // namespace strata
