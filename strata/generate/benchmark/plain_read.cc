#include "strata/generate/benchmark/plain_read.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "strata/core/thread_pool.h"
#include "strata/generate/kernels/run_on_isa.h"
#include "strata/generate/model/dense_reads.h"

namespace strata {
namespace {

constexpr size_t kPieceBytes = 64 << 10;

// Weights lie at any address.
using Word = uint64_t __attribute__((aligned(1), may_alias));

// Something that depends on every word, so that none is left out.
uint64_t Fold(WeightBytes bytes) {
  const auto* const words = reinterpret_cast<const Word*>(bytes.data());
  const size_t count = bytes.size() / sizeof(Word);
  uint64_t result = 0;
  RunOnCurrentIsa([ =, &result ]() __attribute__((always_inline)) {
    // A word at a time would be bound by its instructions and not by memory.
    constexpr size_t kLanes = 32;
    uint64_t folded[kLanes] = {};
    size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      for (size_t lane = 0; lane < kLanes; ++lane) folded[lane] ^= words[i + lane];
    }
    for (; i < count; ++i) folded[0] ^= words[i];
    uint64_t all = 0;
    for (const uint64_t lane : folded) all ^= lane;
    result = all;
  });
  return result;
}

}  // namespace

void PlainRead::Add(WeightBytes part) {
  while (!part.empty()) {
    pieces_.push_back(part.subspan(0, kPieceBytes));
    part.remove_prefix(pieces_.back().size());
  }
}

void PlainRead::Run(ThreadPool& pool) const {
  std::atomic<uint64_t> folded{0};
  pool.ParallelFor(static_cast<int64_t>(pieces_.size()), /*grain=*/1,
                   [&](const ThreadPool::Piece& piece) {
                     uint64_t own = 0;
                     for (int64_t i = piece.begin; i < piece.end; ++i) own ^= Fold(pieces_[i]);
                     folded.fetch_xor(own);
                   });
}

}  // namespace strata
