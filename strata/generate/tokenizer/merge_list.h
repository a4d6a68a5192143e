// Joins neighbours, the best-ranked pair first and the leftmost of equals, until no rule applies:
// what byte-pair and score-driven tokenizers have in common.
//
// `Rule` says what joins:
//   using Part = ...;  // Copyable, comparable.
//   using Rank = ...;  // Smaller joins first.
//   std::optional<Joined<Part, Rank>> Find(const Part& left, const Part& right) const;
// Time is n log n in the number of parts. Used by one thread.
#ifndef STRATA_GENERATE_TOKENIZER_MERGE_LIST_H_
#define STRATA_GENERATE_TOKENIZER_MERGE_LIST_H_

#include <cstdint>
#include <optional>
#include <queue>
#include <tuple>
#include <vector>

namespace strata {

template <typename Part, typename Rank>
struct Joined {
  Rank rank;
  Part result;
};

template <typename Rule>
class MergeList {
 public:
  using Part = typename Rule::Part;
  using Rank = typename Rule::Rank;

  // `rule` outlives the list.
  MergeList(const std::vector<Part>& parts, const Rule& rule) : rule_(rule) {
    nodes_.reserve(parts.size());
    for (const Part& part : parts) nodes_.push_back({part, size() - 1, size() + 1, false});
    for (int32_t left = 0; left + 1 < size(); ++left) Offer(left);
  }

  std::vector<Part> MergeAll() {
    while (!candidates_.empty()) {
      const Candidate best = candidates_.top();
      candidates_.pop();
      if (IsCurrent(best)) Join(best);
    }
    std::vector<Part> parts;
    for (int32_t at = 0; at < size(); at = nodes_[at].next) parts.push_back(nodes_[at].part);
    return parts;
  }

 private:
  struct Node {
    Part part;
    int32_t previous;  // -1: none.
    int32_t next;      // size(): none.
    bool is_gone;      // Joined to the node before.
  };
  struct Candidate {
    Rank rank;
    int32_t left_node;
    Part left;
    Part right;
    Part result;

    bool operator<(const Candidate& other) const {  // The queue's top is its largest.
      return std::tie(rank, left_node) > std::tie(other.rank, other.left_node);
    }
  };

  int32_t size() const { return static_cast<int32_t>(nodes_.size()); }

  void Offer(int32_t left_node) {
    const Node& left = nodes_[left_node];
    if (left.next == size()) return;
    const Part& right = nodes_[left.next].part;
    if (const auto joined = rule_.Find(left.part, right)) {
      candidates_.push({joined->rank, left_node, left.part, right, joined->result});
    }
  }

  // Whether both parts are still what they were when the candidate was found.
  bool IsCurrent(const Candidate& candidate) const {
    const Node& left = nodes_[candidate.left_node];
    return !left.is_gone && left.part == candidate.left && left.next < size() &&
           nodes_[left.next].part == candidate.right;
  }

  void Join(const Candidate& candidate) {
    Node& left = nodes_[candidate.left_node];
    Node& right = nodes_[left.next];
    left.part = candidate.result;
    left.next = right.next;
    right.is_gone = true;
    if (left.next < size()) nodes_[left.next].previous = candidate.left_node;
    if (left.previous >= 0) Offer(left.previous);
    Offer(candidate.left_node);
  }

  const Rule& rule_;
  std::vector<Node> nodes_;
  std::priority_queue<Candidate> candidates_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_TOKENIZER_MERGE_LIST_H_
