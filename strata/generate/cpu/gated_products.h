// The first half of feed-forward parts: activation(gate x, up x), in the form in which the weights
// that come next take it. Parts are experts, chosen or shared, or a dense layer's only one.
//
// Gate and up of all parts are one loop over the threads. Whoever computes the last row of a block
// of columns applies the activation and quantizes it, for all results of the part, while the others
// go on with rows: no thread waits, and values are still in its cache.
//
// Keeps its memory from run to run. Used by one thread, which shares the work over the pool.
#ifndef STRATA_GENERATE_CPU_GATED_PRODUCTS_H_
#define STRATA_GENERATE_CPU_GATED_PRODUCTS_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "strata/core/block_type.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/blocks/activation_form.h"
#include "strata/generate/cpu/product_job.h"
#include "strata/generate/cpu/rows.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/gated_activation.h"
#include "strata/generate/model/weight_matrix.h"

namespace strata {

class GatedProducts {
 public:
  struct Part {
    GatedActivation activation = GatedActivation::kSilu;
    ProductJob::Matrix gate, up;  // Of as many rows.
    BlockType down_type = BlockType::kF32;
    absl::string_view down_name;  // For messages.
  };

  explicit GatedProducts(ThreadPool& pool) : job_(pool) {}

  // Begins anew, with results [0, num_results) of at most `max_width` values.
  void Start(int64_t num_results, int64_t max_width);
  void AddPart(const Part& part);
  // The part added last makes one more result. The inputs may be two forms of one vector.
  void AddResult(int64_t result, const ActivationView& gate_x, const ActivationView& up_x);

  // Kind "nan_logits" as ProductJob, or for a result that is NaN or infinite.
  absl::Status Run();

  // Of the last Run; valid until the next Start.
  const ActivationView& result(int64_t index) const { return buffers_[index].view(); }

  // Of the memory for results; of its two parts for so many results of one part.
  int64_t bytes() const;
  static int64_t ProductBytes(int64_t num_results, int64_t max_width) {
    return 2 * Rows::BytesFor(num_results, max_width);
  }
  static int64_t ResultBytes(BlockType down_type, int64_t num_results, int64_t width) {
    return num_results * ActivationBuffer::BytesFor(*ActivationFormOf(down_type), width);
  }

 private:
  // What a part's results are made in: whole blocks of every form.
  static constexpr int64_t kBlockColumns = 256;

  struct PartInWork {
    Part part;
    int64_t first_result = 0;  // In results_.
    int64_t num_results = 0;
    int64_t first_block = 0;  // In rows_left_.
  };
  struct Result {
    int64_t index = 0;
    ActivationView gate_x, up_x;
  };

  void Prepare(PartInWork& part);
  void CountRows(const PartInWork& part, RowRange rows);
  void FinishBlock(const PartInWork& part, int64_t begin);

  ProductJob job_;
  std::vector<PartInWork> parts_;
  std::vector<Result> results_;  // Those of a part one after the other.
  // Of each block of each part: rows of gate and of up that are still to come. Threads count down.
  std::vector<int64_t> rows_left_;
  Rows gate_, up_;                         // By result.
  std::vector<ActivationBuffer> buffers_;  // By result.
  std::atomic<int> first_not_finite_{0};   // Part.
};

}  // namespace strata

#endif  // STRATA_GENERATE_CPU_GATED_PRODUCTS_H_
