// The device's side of the mailbox (expert_mail.h): posting what a layer has missed, and waiting for
// the answer. Where the host computes it, the layer computes in between what is in slots.
#ifndef STRATA_GENERATE_KERNELS_CUDA_MAIL_MISSES_H_
#define STRATA_GENERATE_KERNELS_CUDA_MAIL_MISSES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/expert_mail.h"
#include "strata/generate/kernels/cuda/launch.h"

namespace strata {

// A kernel that waits longer than this gives up: the step ends, and its results are of no use.
inline constexpr int64_t kMailLimitNs = int64_t{30} * 1000 * 1000 * 1000;

struct PostTask {
  ExpertMail mail;
  DeviceRouting routing;                  // Of one row.
  const DeviceExpert* experts = nullptr;  // [num_experts], of the layer.
  const float* x = nullptr;               // [width], the row's activation; null: not posted.
  int64_t part_offsets[3] = {};           // Of a blob of the layer, where the host brings them.
  bool is_first = false;                  // Of the step.
};
absl::Status PostMisses(const PostTask& task, const KernelStream& stream);

struct AwaitTask {
  ExpertMail mail;
  int64_t limit_ns = kMailLimitNs;
};
absl::Status AwaitMisses(const AwaitTask& task, const KernelStream& stream);

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_MAIL_MISSES_H_
