// Joins neighbours, the best-ranked pair first and the leftmost of equals, until no rule applies:
// what byte-pair and score-driven tokenizers have in common.
//
// `Rule` says what joins:
//   using Part = ...;  // Copyable.
//   std::optional<Joined<Part>> Find(const Part& left, const Part& right) const;
// Time is n log n in the number of parts. One object serves many texts and keeps its memory.
// Thread-compatible.
#ifndef STRATA_GENERATE_TOKENIZER_MERGE_LIST_H_
#define STRATA_GENERATE_TOKENIZER_MERGE_LIST_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace strata {

template <typename Part>
struct Joined {
  uint32_t rank;  // Smaller joins first.
  Part result;
};

template <typename Rule>
class MergeList {
 public:
  using Part = typename Rule::Part;

  // `rule` outlives the list.
  explicit MergeList(const Rule& rule) : rule_(rule) {}

  // Puts what `parts` become in their place.
  void Merge(std::vector<Part>& parts) {
    nodes_.clear();
    candidates_.clear();
    for (const Part& part : parts) nodes_.push_back({part, size() - 1, size() + 1, std::nullopt});
    for (int32_t left = 0; left + 1 < size(); ++left) Offer(left);
    while (!candidates_.empty()) {
      std::pop_heap(candidates_.begin(), candidates_.end(), std::greater<>());
      const uint64_t best = candidates_.back();
      candidates_.pop_back();
      const int32_t left = static_cast<int32_t>(best & 0xFFFFFFFF);
      // Otherwise one of the two has been joined to another since.
      if (nodes_[left].joined && nodes_[left].joined->rank == best >> 32) Join(left);
    }
    parts.clear();
    for (int32_t at = 0; at < size(); at = nodes_[at].next) parts.push_back(nodes_[at].part);
  }

 private:
  struct Node {
    Part part;
    int32_t previous;  // -1: none.
    int32_t next;      // size(): none.
    // With the next; nothing if they do not join, or the node is gone into the one before.
    std::optional<Joined<Part>> joined;
  };

  int32_t size() const { return static_cast<int32_t>(nodes_.size()); }

  void Offer(int32_t left) {
    Node& node = nodes_[left];
    node.joined.reset();
    if (node.next == size()) return;
    node.joined = rule_.Find(node.part, nodes_[node.next].part);
    if (!node.joined) return;
    candidates_.push_back(uint64_t{node.joined->rank} << 32 | static_cast<uint32_t>(left));
    std::push_heap(candidates_.begin(), candidates_.end(), std::greater<>());
  }

  void Join(int32_t left) {
    Node& node = nodes_[left];
    Node& right = nodes_[node.next];
    right.joined.reset();
    node.part = node.joined->result;
    node.next = right.next;
    if (node.next < size()) nodes_[node.next].previous = left;
    if (node.previous >= 0) Offer(node.previous);
    Offer(left);
  }

  const Rule& rule_;
  std::vector<Node> nodes_;
  std::vector<uint64_t> candidates_;  // A heap: rank, then the left node.
};

}  // namespace strata

#endif  // STRATA_GENERATE_TOKENIZER_MERGE_LIST_H_
