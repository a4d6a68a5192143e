#include "strata/generate/tokenizer/special_token_finder.h"

#include <algorithm>
#include <queue>

namespace strata {

SpecialTokenFinder::SpecialTokenFinder() : token_at_(1, kNoToken) {}

void SpecialTokenFinder::Add(absl::string_view text, TokenId id) {
  if (text.empty()) return;
  int32_t node = 0;
  for (const char byte : text) {
    const auto [child, is_new] =
        children_.try_emplace({node, byte}, static_cast<int32_t>(token_at_.size()));
    if (is_new) token_at_.push_back(kNoToken);
    node = child->second;
  }
  token_at_[node] = id;
}

SpecialTokenFinder::Occurrence SpecialTokenFinder::Longest(absl::string_view text, size_t start,
                                                           size_t max_bytes) const {
  Occurrence longest = {start, 0, kNoToken};
  int32_t node = 0;
  const size_t end = start + std::min(max_bytes, text.size() - start);
  for (size_t at = start; at < end; ++at) {
    const auto child = children_.find({node, text[at]});
    if (child == children_.end()) break;
    node = child->second;
    if (token_at_[node] != kNoToken) longest = {start, at + 1 - start, token_at_[node]};
  }
  return longest;
}

std::vector<SpecialTokenFinder::Occurrence> SpecialTokenFinder::FindAll(
    absl::string_view text) const {
  if (children_.empty()) return {};
  const auto is_worse = [](const Occurrence& a, const Occurrence& b) {
    return a.num_bytes != b.num_bytes ? a.num_bytes < b.num_bytes : a.start > b.start;
  };
  std::priority_queue<Occurrence, std::vector<Occurrence>, decltype(is_worse)> candidates(is_worse);
  for (size_t start = 0; start < text.size(); ++start) {
    const Occurrence longest = Longest(text, start, text.size());
    if (longest.num_bytes > 0) candidates.push(longest);
  }

  std::vector<bool> is_taken(text.size(), false);
  std::vector<Occurrence> taken;
  while (!candidates.empty()) {
    const Occurrence best = candidates.top();
    candidates.pop();
    if (is_taken[best.start]) continue;
    // What was taken before is at least as long, so an overlap covers an end of this one.
    if (is_taken[best.start + best.num_bytes - 1]) {
      const Occurrence shorter = Longest(text, best.start, best.num_bytes - 1);
      if (shorter.num_bytes > 0) candidates.push(shorter);
      continue;
    }
    std::fill_n(is_taken.begin() + best.start, best.num_bytes, true);
    taken.push_back(best);
  }
  std::sort(taken.begin(), taken.end(),
            [](const Occurrence& a, const Occurrence& b) { return a.start < b.start; });
  return taken;
}

}  // namespace strata
