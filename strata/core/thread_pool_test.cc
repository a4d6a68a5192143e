#include "strata/core/thread_pool.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace strata {
namespace {

using ::testing::Each;

class ThreadPoolTest : public ::testing::TestWithParam<int> {
 protected:
  ThreadPool pool_{GetParam()};
};

TEST_P(ThreadPoolTest, RunsEveryItemOnce) {
  for (const int64_t num_items : {0, 1, 2, 7, 64, 1000}) {
    for (const int64_t grain : {1, 3, 64}) {
      std::vector<int> runs(num_items);
      pool_.ParallelFor(num_items, grain, [&](const ThreadPool::Piece& piece) {
        for (int64_t i = piece.begin; i < piece.end; ++i) ++runs[i];
      });
      EXPECT_THAT(runs, Each(1)) << num_items << " items, grain " << grain;
    }
  }
}

TEST_P(ThreadPoolTest, PiecesHaveAtLeastTheGrain) {
  std::atomic<int> num_short = 0;
  pool_.ParallelFor(100, 8, [&](const ThreadPool::Piece& piece) {
    if (piece.end - piece.begin < 8 && piece.end != 100) ++num_short;
  });
  EXPECT_EQ(num_short, 0);
}

TEST_P(ThreadPoolTest, AWorkerRunsOnePieceAtATime) {
  std::vector<int> depth(pool_.num_threads());  // A race here is what ThreadSanitizer would report.
  for (int loop = 0; loop < 200; ++loop) {
    pool_.ParallelFor(64, 1, [&](const ThreadPool::Piece& piece) {
      ASSERT_EQ(++depth[piece.worker], 1);
      --depth[piece.worker];
    });
  }
}

TEST_P(ThreadPoolTest, LoopsSeeWhatEarlierLoopsWrote) {
  std::vector<int64_t> values(256);
  for (int loop = 0; loop < 2000; ++loop) {
    pool_.ParallelFor(256, 1, [&](const ThreadPool::Piece& piece) {
      for (int64_t i = piece.begin; i < piece.end; ++i) values[i] += i;
    });
  }
  for (int64_t i = 0; i < 256; ++i) EXPECT_EQ(values[i], 2000 * i);
}

TEST_P(ThreadPoolTest, StartsNoThreadPerLoop) {
  std::set<std::thread::id> ids;
  std::vector<std::thread::id> id_of_worker(pool_.num_threads());
  for (int loop = 0; loop < 500; ++loop) {
    pool_.ParallelFor(32, 1, [&](const ThreadPool::Piece& piece) {
      id_of_worker[piece.worker] = std::this_thread::get_id();
    });
    ids.insert(id_of_worker.begin(), id_of_worker.end());
  }
  ids.erase(std::thread::id());
  EXPECT_LE(ids.size(), pool_.num_threads());
}

// Long enough for the workers to sleep, so that both ways to wait are used.
TEST_P(ThreadPoolTest, WakesWorkersThatSleep) {
  for (int loop = 0; loop < 5; ++loop) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::atomic<int64_t> sum = 0;
    pool_.ParallelFor(8, 1, [&](const ThreadPool::Piece& piece) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      for (int64_t i = piece.begin; i < piece.end; ++i) sum += i;
    });
    EXPECT_EQ(sum, 28);
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolTest, ::testing::Values(1, 2, 3, 8));

}  // namespace
}  // namespace strata
