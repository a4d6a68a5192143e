// Which calls of a HostDevice fail. A test sets the plan and may change it while the device works.
//
// Thread-safe.
#ifndef STRATA_CORE_HOST_DEVICE_FAULTS_H_
#define STRATA_CORE_HOST_DEVICE_FAULTS_H_

#include <array>
#include <cstdint>
#include <random>

#include "absl/strings/string_view.h"
#include "strata/core/mutex.h"

namespace strata {

class HostDeviceFaults {
 public:
  enum class Call {
    kAllocate,
    kAllocatePinned,
    kRegister,  // Of either kind.
    kCreateStream,
    kCopy,     // Refused when it is issued; a batch counts as one.
    kRunCopy,  // Fails while it runs, behind the caller's back.
    kRecord,
  };
  static constexpr int kNumCalls = 7;
  static absl::string_view NameOf(Call call);

  // The n-th such call from now fails; n starts at 1.
  void FailNth(Call call, int64_t n) ABSL_LOCKS_EXCLUDED(mutex_);
  // That one and all after it.
  void FailFrom(Call call, int64_t n) ABSL_LOCKS_EXCLUDED(mutex_);
  // Each one with this probability.
  void FailRandomly(Call call, double probability, uint64_t seed) ABSL_LOCKS_EXCLUDED(mutex_);
  // Nothing fails from now on.
  void Heal() ABSL_LOCKS_EXCLUDED(mutex_);

  // Calls so far, failed ones included.
  int64_t num_calls(Call call) const ABSL_LOCKS_EXCLUDED(mutex_);

  // For the device: counts a call and says whether it fails.
  bool Strikes(Call call) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Plan {
    int64_t num_calls = 0;
    int64_t first_failing = 0;  // By number of the call; 0 for none.
    bool and_all_after = false;
    double probability = 0;
  };

  mutable Mutex mutex_;
  std::array<Plan, kNumCalls> plans_ ABSL_GUARDED_BY(mutex_);
  std::mt19937_64 random_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace strata

#endif  // STRATA_CORE_HOST_DEVICE_FAULTS_H_
