#include "strata/cache/policy/learned_policy.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/experts/expert_geometry.h"

namespace strata {
namespace {

constexpr float kColdest = -std::numeric_limits<float>::infinity();
constexpr float kHottest = std::numeric_limits<float>::infinity();
// Scores mostly sink from one step to the next, so victims are rarely looked for above.
constexpr float kSlack = 0.25f;

// Unsigned numbers in the order of the scores.
uint32_t Ordered(float score) {
  const auto bits = std::bit_cast<uint32_t>(score + 0.0f);  // Of both zeros one.
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
}

}  // namespace

LearnedPolicy::LearnedPolicy(const ExpertGeometry& geometry, absl::Span<const int> hottest_first,
                             absl::Span<const float> uses_per_step)
    : order_(geometry, hottest_first),
      num_experts_(geometry.num_experts()),
      model_(geometry, uses_per_step),
      scores_(model_.scores()),
      number_of_rank_(geometry.size()),
      places_(geometry.size(), Place::kHost),
      residents_(order_.num_classes()),
      position_(geometry.size(), -1),
      wanted_above_(order_.num_classes(), kColdest),
      victims_below_(order_.num_classes(), kHottest) {
  for (int number = 0; number < geometry.size(); ++number) {
    number_of_rank_[order_.Rank(number)] = number;
  }
}

LearnedPolicy::Heat LearnedPolicy::HeatOf(int number) const {
  // The first in the ranking is the hottest.
  return Heat{Ordered(scores_[number])} << 32 | ~static_cast<uint32_t>(order_.Rank(number));
}

void LearnedPolicy::SetPlace(int number, Place place) {
  places_[number] = place;
  std::vector<int>& residents = residents_[order_.ClassOf(number)];
  int& position = position_[number];
  if (place == Place::kSlot && position < 0) {
    position = static_cast<int>(residents.size());
    residents.push_back(number);
  } else if (place != Place::kSlot && position >= 0) {
    position_[residents.back()] = position;
    residents[position] = residents.back();
    residents.pop_back();
    position = -1;
  }
}

void LearnedPolicy::CollectColder(absl::Span<const int> residents, float limit) {
  victims_.resize(residents.size());
  size_t size = 0;
  // Without a branch that nobody can foresee.
  for (const int number : residents) {
    victims_[size] = static_cast<Heat>(number);
    size += scores_[number] <= limit ? 1 : 0;
  }
  victims_.resize(size);
}

void LearnedPolicy::FindVictims(int size_class, size_t most) {
  const std::vector<int>& residents = residents_[size_class];
  float& limit = victims_below_[size_class];
  CollectColder(residents, limit);
  if (victims_.size() < std::min(most, residents.size())) CollectColder(residents, kHottest);
  for (Heat& victim : victims_) victim = HeatOf(static_cast<int>(victim));
  if (most < victims_.size()) {
    std::nth_element(victims_.begin(), victims_.begin() + most, victims_.end());
    victims_.resize(most);
  }
  std::sort(victims_.begin(), victims_.end());
  if (!victims_.empty()) limit = scores_[NumberOf(victims_.back())] + kSlack;
}

void LearnedPolicy::SelectCandidates(absl::Span<const int> candidates, int size_class) {
  candidates_.clear();
  for (const int candidate : candidates) {
    const bool is_here = order_.ClassOf(candidate) == size_class;
    if (is_here && places_[candidate] == Place::kHost) candidates_.push_back(HeatOf(candidate));
  }
}

absl::Span<const ExpertPolicy::Admission> LearnedPolicy::EndStep(const Step& step) {
  admissions_.clear();
  model_.AddStep(step.uses);
  CHECK_EQ(step.num_empty.size(), residents_.size());
  for (int size_class = 0; size_class < order_.num_classes(); ++size_class) {
    SelectCandidates(step.candidates, size_class);
    AdmitOfClass(size_class, static_cast<size_t>(step.num_empty[size_class]));
  }
  return admissions_;
}

void LearnedPolicy::AdmitOfClass(int size_class, size_t num_empty) {
  const size_t num_placed = std::min(num_empty, candidates_.size());
  // One more than can leave: the coldest of those that stay says what the next step wants.
  FindVictims(size_class, candidates_.size() - num_placed + 1);
  std::sort(candidates_.begin(), candidates_.end(), std::greater<Heat>());
  for (size_t i = 0; i < num_placed; ++i) {
    admissions_.push_back({.newcomer = NumberOf(candidates_[i])});
  }
  size_t num_left = 0;
  for (; num_left < victims_.size() && num_placed + num_left < candidates_.size(); ++num_left) {
    const Heat newcomer = candidates_[num_placed + num_left];
    if (newcomer < victims_[num_left]) break;
    admissions_.push_back({.newcomer = NumberOf(newcomer), .victim = NumberOf(victims_[num_left])});
  }
  const bool has_room = num_placed < num_empty || num_left == victims_.size();
  wanted_above_[size_class] = has_room ? kColdest : scores_[NumberOf(victims_[num_left])] + kMargin;
}

void LearnedPolicy::FindWanted(absl::Span<uint8_t> wanted) {
  const absl::Span<const float> scores = model_.scores_if_used();
  const int num_numbers = static_cast<int>(scores.size());
  for (int first = 0; first < num_numbers; first += num_experts_) {
    const float least = wanted_above_[order_.ClassOf(first)];  // Of the whole layer.
    for (int number = first; number < first + num_experts_; ++number) {
      wanted[number] = scores[number] > least && places_[number] == Place::kHost ? 1 : 0;
    }
  }
}

}  // namespace strata
