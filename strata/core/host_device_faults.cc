#include "strata/core/host_device_faults.h"

#include <cstdint>
#include <random>

#include "absl/strings/string_view.h"
#include "strata/core/mutex.h"

namespace strata {

absl::string_view HostDeviceFaults::NameOf(Call call) {
  constexpr absl::string_view kNames[kNumCalls] = {
      "allocate", "allocate pinned", "register", "create stream", "copy", "run copy", "record"};
  return kNames[static_cast<int>(call)];
}

void HostDeviceFaults::FailNth(Call call, int64_t n) {
  MutexLock lock(&mutex_);
  Plan& plan = plans_[static_cast<int>(call)];
  plan.first_failing = plan.num_calls + n;
  plan.and_all_after = false;
}

void HostDeviceFaults::FailFrom(Call call, int64_t n) {
  MutexLock lock(&mutex_);
  Plan& plan = plans_[static_cast<int>(call)];
  plan.first_failing = plan.num_calls + n;
  plan.and_all_after = true;
}

void HostDeviceFaults::FailRandomly(Call call, double probability, uint64_t seed) {
  MutexLock lock(&mutex_);
  plans_[static_cast<int>(call)].probability = probability;
  random_.seed(seed);
}

void HostDeviceFaults::Heal() {
  MutexLock lock(&mutex_);
  for (Plan& plan : plans_) {
    plan.first_failing = 0;
    plan.probability = 0;
  }
}

int64_t HostDeviceFaults::num_calls(Call call) const {
  MutexLock lock(&mutex_);
  return plans_[static_cast<int>(call)].num_calls;
}

bool HostDeviceFaults::Strikes(Call call) {
  MutexLock lock(&mutex_);
  Plan& plan = plans_[static_cast<int>(call)];
  ++plan.num_calls;
  if (plan.probability > 0 && std::bernoulli_distribution(plan.probability)(random_)) return true;
  if (plan.first_failing == 0 || plan.num_calls < plan.first_failing) return false;
  return plan.and_all_after || plan.num_calls == plan.first_failing;
}

}  // namespace strata
