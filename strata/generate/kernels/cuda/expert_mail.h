// The mailbox through which the host serves what a step misses: each layer of a step of one row that
// has misses posts them, and waits for the answer. Either the host computes them, from the activation
// that is posted with them, and answers with what their down matrices give; or it brings them to
// device memory. All within a recorded step: flags in pinned memory are the whole protocol.
//
// Requests are numbered, one for each layer that has experts, through all steps that use the
// mailbox. A request without misses is not answered, and the next one may be written over it.
#ifndef STRATA_GENERATE_KERNELS_CUDA_EXPERT_MAIL_H_
#define STRATA_GENERATE_KERNELS_CUDA_EXPERT_MAIL_H_

#include <cstddef>
#include <cstdint>

#include "strata/generate/kernels/cuda/device_experts.h"

namespace strata {

// Written by the device, the flag last: number << 32 | num_missed.
struct MailRequest {
  uint64_t flag = 0;
  // Of each miss, in the order of rank.
  int32_t ranks[kMaxChosenExperts] = {};
  int32_t experts[kMaxChosenExperts] = {};  // Of the layer.
};

// What the device knows of the request that it posted last.
struct MailState {
  uint32_t number = 0;
  int32_t num_missed = 0;
  uint32_t is_late = 0;  // This step has given up waiting.
  uint32_t padding = 0;
  int32_t ranks[kMaxChosenExperts] = {};
};

struct ExpertMail {
  int64_t width = 0;  // Values of an activation and of an answer, a multiple of 4.
  // In pinned memory.
  MailRequest* request = nullptr;
  float* x = nullptr;            // [width]
  uint32_t* answered = nullptr;  // The number of the last request that the host has answered.
  float* answers = nullptr;      // [num_chosen][width], in the order of the request.
  uint32_t* late = nullptr;      // Not zero: a step has given up waiting. The host clears it.
  // In device memory, zero to begin with.
  MailState* state = nullptr;
  float* by_rank = nullptr;  // [num_chosen][width]: the answers, those of misses alone.
  // Where the host brings them, in device memory: number i of a request begins i * stride bytes
  // behind the beginning of `memory`. Null where it computes them.
  DeviceExpert* staged_table =
      nullptr;  // [num_experts]: the chosen of a layer, all to be read here.
  std::byte* staged_memory = nullptr;
  int64_t staged_stride = 0;
};

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_EXPERT_MAIL_H_
