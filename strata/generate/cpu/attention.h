// Softmax attention of one token over the keys and values of the tokens up to it, or of some.
//
// The order is fixed by positions alone, so the bits depend neither on threads nor on how a prompt
// was cut into batches. Keys are taken in pages of the KV pool, in ascending order. Within a tile
// (what lies past the token or before its window is left out): scores are scale * (q . k), m their
// maximum, p = Exp(score - m), l the sum of p, o = the fma chain of p * v over ascending positions
// from +0. Tiles are joined in order: with M = max(m, m'), a = Exp(m - M), b = Exp(m' - M),
// l = fma(l, a, l' * b), and o alike. A sink is joined last, as a key of that score without value.
// The result is o / l. Where blocks of positions were selected, tiles are of as many selected
// positions, in ascending order; if all are, that is the same. Dot products and sums are those of accumulators.h; vector_math.h gives their
// bits on every instruction set.
#ifndef STRATA_GENERATE_CPU_ATTENTION_H_
#define STRATA_GENERATE_CPU_ATTENTION_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "strata/generate/cpu/kv_pool.h"

namespace strata {

struct AttentionShape {
  int num_heads = 0;  // A multiple of the KV heads; neighbouring heads share one.
  KvShape kv;
  float scale = 1.0f;
  int64_t window = 0;  // A token sees itself and the window - 1 before it; 0: all.
};

// Whole blocks of neighbouring positions, ascending, and all from the position `tail` on. The block
// size divides KvPool::kPagePositions, and fewer positions than it follow `tail`.
struct BlockSelection {
  int block_size = 1;
  absl::Span<const int32_t> blocks;
  int64_t tail = 0;
};

// Computes for one thread; keeps its working memory between calls. Thread-compatible.
class Attention {
 public:
  // Neighbouring heads that share a KV head.
  struct Heads {
    int begin = 0;
    int end = 0;
  };

  // At `position`, whose own key and value are stored. `queries` and `out` hold num_heads rows
  // (key_size and value_size values); only those of `heads` are used. `sinks` is empty or holds one
  // score per head. The bits of a head do not depend on the others.
  void Attend(const AttentionShape& shape, const KvState& state, int layer, Heads heads,
              int64_t position, absl::Span<const float> queries, absl::Span<const float> sinks,
              absl::Span<float> out);
  // The same over the positions that were selected, without a window.
  void AttendTo(const BlockSelection& selection, const AttentionShape& shape, const KvState& state,
                int layer, Heads heads, int64_t position, absl::Span<const float> queries,
                absl::Span<const float> sinks, absl::Span<float> out);

 private:
  struct Tile {
    int begin;  // Rows that are seen: [begin, end).
    int end;
    const float* keys;
    const float* values;  // value_stride() apart.
  };
  // A softmax under way: maximum, sum, and the weighted sum of values at `out`.
  struct Softmax {
    float max = 0.0f;
    float sum = 0.0f;
    bool is_empty = true;
  };

  // What both ways begin with, do with a tile, and end with.
  void Start(const AttentionShape& shape, Heads heads);
  void AddTileToHeads(const AttentionShape& shape, const Tile& tile, Heads heads,
                      absl::Span<const float> queries, absl::Span<float> out);
  void FinishHeads(const AttentionShape& shape, Heads heads, absl::Span<const float> sinks,
                   absl::Span<float> out) const;
  void AddTile(const AttentionShape& shape, const Tile& tile, const float* query, Softmax& softmax,
               absl::Span<float> out);

  std::vector<float> keys_;
  std::vector<float> values_;
  std::vector<float> tile_out_;
  std::vector<Softmax> softmaxes_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_CPU_ATTENTION_H_
