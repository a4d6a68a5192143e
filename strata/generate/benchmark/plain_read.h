// Reads memory and does nothing else with it: what a machine's memory gives to so many threads, for
// rates to be set beside.
#ifndef STRATA_GENERATE_BENCHMARK_PLAIN_READ_H_
#define STRATA_GENERATE_BENCHMARK_PLAIN_READ_H_

#include <vector>

#include "absl/types/span.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/model/dense_reads.h"

namespace strata {

// One pass over some parts of memory, in order, which the threads of a pool share in pieces that
// lie one after the other. The parts are borrowed.
class PlainRead {
 public:
  void Add(WeightBytes part);
  void Run(ThreadPool& pool) const;

 private:
  std::vector<WeightBytes> pieces_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_BENCHMARK_PLAIN_READ_H_
