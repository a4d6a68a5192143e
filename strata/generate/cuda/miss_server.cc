#include "strata/generate/cuda/miss_server.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/generate/kernels/cuda/expert_mail.h"

namespace strata {
namespace {

using Clock = std::chrono::steady_clock;

// Looks at the flag between two looks at the clock.
constexpr int kLooks = 1024;

}  // namespace

MissServer::MissServer(const ExpertMail& mail, int num_layers, std::chrono::nanoseconds limit)
    : mail_(mail), num_layers_(num_layers), limit_(limit) {}

void MissServer::BeginStep() { std::atomic_ref<uint32_t>(*mail_.late).store(0); }

absl::StatusOr<MissServer::Request> MissServer::WaitForRequest() const {
  const std::atomic_ref<uint64_t> flag(mail_.request->flag);
  const Clock::time_point end = Clock::now() + limit_;
  do {
    for (int i = 0; i < kLooks; ++i) {
      const uint64_t seen = flag.load(std::memory_order_acquire);
      const auto number = static_cast<uint32_t>(seen >> 32);
      if (number != last_) return Request{number, static_cast<int>(seen & 0xffffffffu)};
      __builtin_ia32_pause();
    }
  } while (Clock::now() < end);
  return absl::DeadlineExceededError(
      absl::StrCat("the GPU has not come to the next layer with experts within ",
                   std::chrono::duration_cast<std::chrono::seconds>(limit_).count(), " s"));
}

absl::Status MissServer::Serve() {
  const uint32_t end = last_ + static_cast<uint32_t>(num_layers_);
  absl::Status status;
  while (last_ != end) {
    const absl::StatusOr<Request> request = WaitForRequest();
    if (!request.ok()) {
      last_ = end;
      return request.status();
    }
    const auto left = static_cast<int>(end - request->number);
    CHECK(0 <= left && left < num_layers_) << left;
    CHECK_LE(request->num_missed, kMaxChosenExperts);
    last_ = request->number;
    if (request->num_missed == 0) continue;
    status.Update(Answer(
        num_layers_ - 1 - left,
        absl::MakeConstSpan(mail_.request->experts, static_cast<size_t>(request->num_missed))));
    std::atomic_ref<uint32_t>(*mail_.answered).store(last_, std::memory_order_release);
  }
  return status;
}

absl::Status MissServer::CheckInTime() const {
  if (std::atomic_ref<uint32_t>(*mail_.late).load() == 0) return absl::OkStatus();
  return absl::DeadlineExceededError(
      "what the GPU had missed came too late, and it has given up the step (--miss)");
}

}  // namespace strata
