#include "strata/cache/policy/learned_policy.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/experts/expert_geometry.h"

namespace strata {
namespace {

constexpr float kColdest = -std::numeric_limits<float>::infinity();

}  // namespace

LearnedPolicy::LearnedPolicy(const ExpertGeometry& geometry, absl::Span<const int> hottest_first,
                             absl::Span<const float> uses_per_step)
    : order_(geometry, hottest_first),
      model_(geometry, uses_per_step),
      scores_(model_.scores()),
      places_(geometry.size(), Place::kHost),
      residents_(order_.num_classes()),
      position_(geometry.size(), -1),
      coldest_(order_.num_classes(), kColdest) {}

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

void LearnedPolicy::FindVictims(int size_class, size_t most) {
  const auto is_colder = [this](int a, int b) { return IsHotter(b, a); };
  victims_.assign(residents_[size_class].begin(), residents_[size_class].end());
  if (most < victims_.size()) {
    std::nth_element(victims_.begin(), victims_.begin() + most, victims_.end(), is_colder);
    victims_.resize(most);
  }
  std::sort(victims_.begin(), victims_.end(), is_colder);
}

absl::Span<const ExpertPolicy::Admission> LearnedPolicy::EndStep(const Step& step) {
  admissions_.clear();
  model_.AddStep(step.uses);
  CHECK_EQ(step.num_empty.size(), residents_.size());
  for (int size_class = 0; size_class < order_.num_classes(); ++size_class) {
    candidates_.clear();
    for (const int candidate : step.candidates) {
      const bool is_here = order_.ClassOf(candidate) == size_class;
      if (is_here && places_[candidate] == Place::kHost) candidates_.push_back(candidate);
    }
    std::sort(candidates_.begin(), candidates_.end(),
              [this](int a, int b) { return IsHotter(a, b); });
    AdmitOfClass(size_class, std::min<size_t>(step.num_empty[size_class], candidates_.size()));
  }
  return admissions_;
}

void LearnedPolicy::AdmitOfClass(int size_class, size_t num_empty) {
  for (size_t i = 0; i < num_empty; ++i) admissions_.push_back({.newcomer = candidates_[i]});
  // One more than can leave: the coldest of those that stay says what the next step wants.
  FindVictims(size_class, candidates_.size() - num_empty + 1);
  size_t num_left = 0;
  for (; num_left < victims_.size() && num_empty + num_left < candidates_.size(); ++num_left) {
    const int newcomer = candidates_[num_empty + num_left];
    if (!IsHotter(newcomer, victims_[num_left])) break;
    admissions_.push_back({.newcomer = newcomer, .victim = victims_[num_left]});
  }
  coldest_[size_class] = num_left < victims_.size() ? scores_[victims_[num_left]] : kColdest;
}

bool LearnedPolicy::Wants(int number) {
  return model_.ScoreIfUsed(number) > coldest_[order_.ClassOf(number)];
}

}  // namespace strata
