// The host's side of the mailbox (expert_mail.h): answers what a step on the GPU has missed, while
// the step runs. What an answer is, is its classes' affair.
//
//   server.BeginStep();  ... the step is launched ...  RETURN_IF_ERROR(server.Serve());
//
// Used by the engine's thread. The mailbox outlives it.
#ifndef STRATA_GENERATE_CUDA_MISS_SERVER_H_
#define STRATA_GENERATE_CUDA_MISS_SERVER_H_

#include <chrono>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/generate/kernels/cuda/expert_mail.h"

namespace strata {

class MissServer {
 public:
  // Between two requests of a step; the device waits as long for an answer.
  static constexpr std::chrono::nanoseconds kLimit = std::chrono::seconds(30);

  // Of a model with so many layers that have experts.
  MissServer(const ExpertMail& mail, int num_layers, std::chrono::nanoseconds limit);
  virtual ~MissServer() = default;
  MissServer(const MissServer&) = delete;
  MissServer& operator=(const MissServer&) = delete;

  // Before a step is launched.
  void BeginStep();
  // Answers all requests of the step that was launched, one for each layer with experts.
  // kDeadlineExceeded when one of them does not come; else the first error of an answer, and the
  // step goes on to its end.
  absl::Status Serve();
  // When the step has ended: kDeadlineExceeded if it gave up waiting for an answer.
  absl::Status CheckInTime() const;

 protected:
  // `experts` are those of the layer that are missed, in the order of the request; layers are
  // counted among those that have experts. What the step waits for is there when it returns.
  virtual absl::Status Answer(int layer, absl::Span<const int32_t> experts) = 0;

  const ExpertMail& mail() const { return mail_; }

 private:
  struct Request {
    uint32_t number = 0;
    int num_missed = 0;
  };
  // The next one after `last_`, perhaps not the one right behind it.
  absl::StatusOr<Request> WaitForRequest() const;

  const ExpertMail mail_;
  const int num_layers_;
  const std::chrono::nanoseconds limit_;
  uint32_t last_ = 0;  // The number of the last request that was seen, or could have been.
};

}  // namespace strata

#endif  // STRATA_GENERATE_CUDA_MISS_SERVER_H_
