// The short convolution of a layer for a batch of rows.
// Used by one thread, which shares the work over the pool.
#ifndef STRATA_GENERATE_CPU_SHORT_CONVOLUTION_BLOCK_H_
#define STRATA_GENERATE_CPU_SHORT_CONVOLUTION_BLOCK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/cpu/activation_batch.h"
#include "strata/generate/cpu/cpu_row.h"
#include "strata/generate/cpu/kv_pool.h"
#include "strata/generate/cpu/product_job.h"
#include "strata/generate/cpu/rows.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

class ShortConvolutionBlock {
 public:
  explicit ShortConvolutionBlock(ThreadPool& pool) : pool_(pool), job_(pool), mixed_batch_(pool) {}

  // `layer` is its number in the recurrent states; x.row(i) is that of rows[i].
  absl::Status Run(const ShortConvolution& part, int layer, absl::Span<const CpuRow> rows,
                   ActivationBatch& x, Rows& out);

  int64_t workspace_bytes() const {
    return projected_.bytes() + inputs_.bytes() + mixed_.bytes() + mixed_batch_.bytes();
  }
  // For so many rows.
  static int64_t WorkspaceBytes(const ShortConvolution& part, int64_t num_rows);

 private:
  ThreadPool& pool_;
  ProductJob job_;
  Rows projected_;  // b, c and x of each row.
  Rows inputs_;     // b * x
  Rows mixed_;
  ActivationBatch mixed_batch_;
};

// What a sequence keeps of a layer.
int64_t RecurrentValuesOf(const ShortConvolution& part);
// There are no keys.
inline KvShape KvShapeOf(const ShortConvolution& /*part*/) { return {}; }

}  // namespace strata

#endif  // STRATA_GENERATE_CPU_SHORT_CONVOLUTION_BLOCK_H_
