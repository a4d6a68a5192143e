// Computes, by the CPU's kernels, the experts that a step on the GPU has missed. The bits are those
// that the GPU would have got.
//
// Used by the engine's thread, which shares the work over threads of its own; none of them calls
// the device. What it is made of outlives it.
#ifndef STRATA_GENERATE_CUDA_MISS_COMPUTER_H_
#define STRATA_GENERATE_CUDA_MISS_COMPUTER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/cpu/activation_batch.h"
#include "strata/generate/cpu/gated_products.h"
#include "strata/generate/cpu/product_job.h"
#include "strata/generate/cpu/rows.h"
#include "strata/generate/cuda/miss_server.h"
#include "strata/generate/kernels/cuda/expert_mail.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

class MissComputer : public MissServer {
 public:
  // Where the parts of an expert without a slot lie in host memory; by number, as the step sees it.
  using Locate = std::function<BlobParts(int number)>;
  struct Options {
    int num_threads = 1;
    std::chrono::nanoseconds limit = kLimit;
  };

  MissComputer(const Options& options, const ModelGraph& graph, const ExpertMail& mail,
               Locate locate);

 private:
  // An error is of kind nan_logits, as the CPU's engine's.
  absl::Status Answer(int layer, absl::Span<const int32_t> experts) override;

  std::vector<const MixtureOfExperts*> layers_;  // Those that have experts.
  const Locate locate_;
  ThreadPool pool_;
  Rows x_;
  ActivationBatch batch_;
  GatedProducts gated_;
  ProductJob down_;
  std::vector<BlobParts> parts_;  // Of one answer; kept for its memory.
};

}  // namespace strata

#endif  // STRATA_GENERATE_CUDA_MISS_COMPUTER_H_
