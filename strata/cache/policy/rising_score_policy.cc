#include "strata/cache/policy/rising_score_policy.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/experts/expert_geometry.h"

namespace strata {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

RisingScorePolicy::RisingScorePolicy(const ExpertGeometry& geometry,
                                     absl::Span<const int> hottest_first)
    : order_(geometry, hottest_first),
      num_experts_(geometry.num_experts()),
      scores_(geometry.size(), 0),
      places_(geometry.size(), Place::kHost),
      in_heap_(geometry.size(), false),
      heaps_(order_.num_classes()),
      num_empty_(order_.num_classes(), 0),
      raised_(geometry.size(), 0) {}

void RisingScorePolicy::RaiseEach(absl::Span<const double> scores,
                                  absl::Span<double> raised) const {
  for (size_t i = 0; i < scores.size(); ++i) raised[i] = Raised(scores[i], 1);
}

void RisingScorePolicy::ScaleScores(double factor) {
  // Those of long ago become zero, in the heaps too, rather than numbers that processors are slow
  // with.
  constexpr double kNothing = 1e-200;
  const auto scale = [factor](double& score) {
    score *= factor;
    if (score < kNothing) score = 0;
  };
  for (double& score : scores_) scale(score);
  for (std::vector<Entry>& heap : heaps_) {
    for (Entry& entry : heap) scale(entry.score);
    // Scores that became equal are ordered by rank now.
    std::make_heap(heap.begin(), heap.end(), [this](const Entry& a, const Entry& b) {
      return IsHotter(a.score, a.number, b.score, b.number);
    });
  }
}

void RisingScorePolicy::Push(int number) {
  if (in_heap_[number]) return;  // With a score of before, which is none too high.
  in_heap_[number] = true;
  std::vector<Entry>& heap = heaps_[order_.ClassOf(number)];
  heap.push_back({scores_[number], number});
  std::push_heap(heap.begin(), heap.end(), [this](const Entry& a, const Entry& b) {
    return IsHotter(a.score, a.number, b.score, b.number);
  });
}

void RisingScorePolicy::Pop(int size_class) {
  std::vector<Entry>& heap = heaps_[size_class];
  in_heap_[heap.front().number] = false;
  std::pop_heap(heap.begin(), heap.end(), [this](const Entry& a, const Entry& b) {
    return IsHotter(a.score, a.number, b.score, b.number);
  });
  heap.pop_back();
}

int RisingScorePolicy::Coldest(int size_class) {
  const std::vector<Entry>& heap = heaps_[size_class];
  while (!heap.empty()) {
    const auto [score, number] = heap.front();
    if (places_[number] == Place::kSlot && score == scores_[number]) return number;
    Pop(size_class);
    if (places_[number] == Place::kSlot) Push(number);
  }
  return -1;
}

void RisingScorePolicy::SetPlace(int number, Place place) {
  places_[number] = place;
  if (place == Place::kSlot) Push(number);
}

bool RisingScorePolicy::Wants(int number) {
  const int size_class = order_.ClassOf(number);
  if (num_empty_[size_class] > 0) return true;
  const int coldest = Coldest(size_class);
  return coldest >= 0 && IsHotter(Raised(scores_[number], 1), number, scores_[coldest], coldest);
}

void RisingScorePolicy::FindWanted(absl::Span<uint8_t> wanted) {
  RaiseEach(scores_, absl::MakeSpan(raised_));
  const int num_numbers = static_cast<int>(scores_.size());
  for (int first = 0; first < num_numbers; first += num_experts_) {
    const int size_class = order_.ClassOf(first);  // Of the whole layer.
    const int coldest = Coldest(size_class);
    const double threshold = coldest >= 0 ? scores_[coldest] : kNever;
    const bool has_room = num_empty_[size_class] > 0;
    for (int number = first; number < first + num_experts_; ++number) {
      const bool is_hotter = raised_[number] > threshold;
      wanted[number] = (has_room || is_hotter) && places_[number] == Place::kHost;
      // Equal scores are rare.
      if (raised_[number] == threshold && !has_room) {
        wanted[number] =
            places_[number] == Place::kHost && order_.Rank(number) < order_.Rank(coldest);
      }
    }
  }
}

// Victims that the caller did not move out are residents still.
void RisingScorePolicy::TakeBackVictims() {
  for (const Admission& admission : admissions_) {
    if (admission.victim >= 0 && places_[admission.victim] == Place::kSlot) Push(admission.victim);
  }
  admissions_.clear();
}

absl::Span<const ExpertPolicy::Admission> RisingScorePolicy::EndStep(const Step& step) {
  TakeBackVictims();
  Raise(step.uses, scores_);
  CHECK_EQ(step.num_empty.size(), num_empty_.size());
  std::copy(step.num_empty.begin(), step.num_empty.end(), num_empty_.begin());
  SelectCandidates(step.candidates);
  for (const int candidate : candidates_) Admit(candidate);
  EndUses();
  return admissions_;
}

// One that is colder than the coldest resident now is so later in the step, too: victims only make
// way for hotter ones. Most are, so this is what a step costs.
void RisingScorePolicy::SelectCandidates(absl::Span<const int> candidates) {
  candidates_.clear();
  for (const int candidate : candidates) {
    const int size_class = order_.ClassOf(candidate);
    if (places_[candidate] != Place::kHost) continue;
    if (num_empty_[size_class] == 0) {
      const int coldest = Coldest(size_class);
      if (coldest < 0 || !IsHotter(scores_[candidate], candidate, scores_[coldest], coldest)) {
        continue;
      }
    }
    candidates_.push_back(candidate);
  }
  std::sort(candidates_.begin(), candidates_.end(),
            [this](int a, int b) { return IsHotter(scores_[a], a, scores_[b], b); });
}

void RisingScorePolicy::Admit(int candidate) {
  const int size_class = order_.ClassOf(candidate);
  if (num_empty_[size_class] > 0) {
    --num_empty_[size_class];
    admissions_.push_back({.newcomer = candidate});
    return;
  }
  const int coldest = Coldest(size_class);
  if (coldest < 0 || !IsHotter(scores_[candidate], candidate, scores_[coldest], coldest)) return;
  Pop(size_class);
  admissions_.push_back({.newcomer = candidate, .victim = coldest});
}

}  // namespace strata
