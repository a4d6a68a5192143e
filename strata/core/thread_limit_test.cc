// Where the system starts no more threads, those that did start end in order, and the caller is
// told by the standard library's exception, which ToolMain turns into the machine's error. A thread
// that nobody joins would abort the process instead.
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <system_error>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "strata/core/host_slab.h"
#include "strata/core/thread_pool.h"
#include "strata/core/worker_group.h"

namespace strata {
namespace {

constexpr int kTold = 7;
constexpr int kMany = 200;
constexpr int64_t kMiB = 1 << 20;

// Address space for the stacks of a few more threads.
void LimitThreads() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 8 * kMiB);
  pthread_setattr_default_np(&attributes);
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t most = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + 36 * kMiB);
  const rlimit limit = {.rlim_cur = most, .rlim_max = most};
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(1);
}

[[noreturn]] void ExitByOutcome(absl::FunctionRef<void()> start_threads) {
  LimitThreads();
  try {
    start_threads();
  } catch (const std::system_error&) {
    std::_Exit(kTold);
  }
  std::_Exit(0);
}

class ThreadLimitTest : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers take address space of their own";
#endif
  }
};

TEST_F(ThreadLimitTest, AWorkerGroupEndsTheThreadsThatItHas) {
  EXPECT_EXIT(ExitByOutcome([] { WorkerGroup group(kMany, [](int) {}); }),
              ::testing::ExitedWithCode(kTold), "");
}

TEST_F(ThreadLimitTest, AThreadPoolDoes) {
  EXPECT_EXIT(ExitByOutcome([] { ThreadPool pool(kMany); }), ::testing::ExitedWithCode(kTold), "");
}

TEST_F(ThreadLimitTest, ASlabThatIsTouchedDoes) {
  const absl::StatusOr<HostSlab> slab = HostSlab::Map(kMany * 2 * kMiB, /*huge_pages=*/false);
  ASSERT_TRUE(slab.ok()) << slab.status();
  EXPECT_EXIT(ExitByOutcome([&] { slab->Touch(kMany); }), ::testing::ExitedWithCode(kTold), "");
}

}  // namespace
}  // namespace strata
