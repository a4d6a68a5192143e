#include "strata/core/worker_group.h"

#include <atomic>
#include <vector>

#include "gtest/gtest.h"

namespace strata {
namespace {

TEST(WorkerGroupTest, CallsEveryWorkerOnceARound) {
  std::vector<int> calls(3);
  WorkerGroup workers(3, [&](int worker) { ++calls[worker]; });
  for (int round = 0; round < 100; ++round) {
    workers.Start();
    workers.Wait();
  }
  EXPECT_EQ(calls, std::vector<int>({100, 100, 100}));
}

TEST(WorkerGroupTest, ARoundMayBeOfTheFirstFewAlone) {
  std::vector<int> calls(3);
  WorkerGroup workers(3, [&](int worker) { ++calls[worker]; });
  for (const int num_workers : {1, 2, 3, 1}) {
    workers.Start(num_workers);
    workers.Wait();
  }
  EXPECT_EQ(calls, std::vector<int>({4, 2, 1}));
}

TEST(WorkerGroupTest, SaysWhileARoundIsRunning) {
  std::atomic<bool> may_end = false;
  WorkerGroup workers(2, [&](int) {
    while (!may_end) std::this_thread::yield();
  });
  EXPECT_FALSE(workers.running());
  workers.Start();
  EXPECT_TRUE(workers.running());
  may_end = true;
  workers.Wait();
  EXPECT_FALSE(workers.running());
}

TEST(WorkerGroupTest, ItsEndWaitsForTheRound) {
  std::atomic<int> calls = 0;
  {
    WorkerGroup workers(4, [&](int) { ++calls; });
    workers.Start();
  }
  EXPECT_EQ(calls, 4);
}

}  // namespace
}  // namespace strata
