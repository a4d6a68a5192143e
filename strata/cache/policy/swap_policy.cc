#include "strata/cache/policy/swap_policy.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/slot_plan.h"

namespace strata {
namespace {

// Counts below it are of uses long forgotten; on the way to zero they would become numbers that
// processors are slow with.
constexpr float kNothing = 1e-6f;
constexpr int64_t kMaxHorizon = 1000;
constexpr float kEverything = std::numeric_limits<float>::infinity();

// Keeps the best `most` of all numbers pushed; `is_better` orders them, and the worst one kept is
// at the front.
template <typename IsBetter>
void PushBounded(int number, size_t most, const IsBetter& is_better, std::vector<int>& heap) {
  if (heap.size() == most) {
    if (!is_better(number, heap.front())) return;
    std::pop_heap(heap.begin(), heap.end(), is_better);
    heap.back() = number;
  } else {
    heap.push_back(number);
  }
  std::push_heap(heap.begin(), heap.end(), is_better);
}

}  // namespace

SwapPolicy::SwapPolicy(const ExpertGeometry& geometry, const Options& options,
                       absl::Span<const int> hottest_first)
    : options_(options),
      horizon_rounds_(std::clamp<int64_t>(std::llround(1 / (1 - options.decay)), 1, kMaxHorizon)),
      num_experts_(geometry.num_experts()),
      class_bytes_(SizeClassesOf(geometry)),
      rank_(geometry.size()),
      counts_(geometry.size(), 0),
      candidates_(class_bytes_.size()) {
  CHECK_GT(options.adapt_every, 0);
  CHECK_GE(options.max_swaps, 0);
  CHECK(0 <= options.decay && options.decay < 1) << "decay " << options.decay;
  CHECK(std::isfinite(options.margin)) << "margin " << options.margin;
  const std::vector<int> ranking = SlotPlan::CompleteRanking(geometry, hottest_first);
  for (size_t i = 0; i < ranking.size(); ++i) rank_[ranking[i]] = static_cast<int>(i);
  for (const ExpertGeometry::Layer& layer : geometry.layers()) {
    class_of_layer_.push_back(SizeClassOf(class_bytes_, layer.blob_bytes));
  }
  for (Candidates& candidates : candidates_) {
    candidates.newcomers.reserve(options.max_swaps);
    candidates.victims.reserve(options.max_swaps);
  }
  swaps_.reserve(options.max_swaps * candidates_.size());
}

void SwapPolicy::Seed(absl::Span<const float> expected_uses) {
  CHECK_EQ(expected_uses.size(), counts_.size());
  counts_.assign(expected_uses.begin(), expected_uses.end());
  for (const float count : counts_) CHECK(count >= 0 && std::isfinite(count)) << count;
}

absl::Span<const SwapPolicy::Swap> SwapPolicy::Decide(const SwapRates& rates,
                                                      absl::Span<const Place> places,
                                                      absl::Span<const int> num_empty) {
  swaps_.clear();
  if (options_.max_swaps == 0 || !rates.are_known()) return swaps_;
  CHECK_EQ(places.size(), counts_.size());
  CHECK_EQ(num_empty.size(), candidates_.size());
  Collect(places);
  for (size_t i = 0; i < candidates_.size(); ++i) {
    AddPairs(rates, static_cast<int>(i), num_empty[i]);
  }
  KeepBest();
  return swaps_;
}

void SwapPolicy::Collect(absl::Span<const Place> places) {
  for (Candidates& candidates : candidates_) {
    candidates.newcomers.clear();
    candidates.victims.clear();
  }
  const auto hotter = [this](int a, int b) { return IsHotter(a, b); };
  const auto colder = [this](int a, int b) { return IsHotter(b, a); };
  const size_t most = options_.max_swaps;
  // Many counts are equal. Newcomers are looked at from the first of a layer, victims from the
  // last, which is how an unknown ranking breaks ties: what comes later rarely displaces anything.
  for (size_t layer = 0; layer < class_of_layer_.size(); ++layer) {
    const int first = static_cast<int>(layer) * num_experts_;
    Candidates& candidates = candidates_[class_of_layer_[layer]];
    // The count decides nearly always, and foreseeably, which the place does not.
    const auto worst_count = [&](const std::vector<int>& heap, float otherwise) {
      return heap.size() == most ? counts_[heap.front()] : otherwise;
    };
    float least = worst_count(candidates.newcomers, kNothing);
    for (int number = first; number < first + num_experts_; ++number) {
      if (counts_[number] < least || places[number] != Place::kHost) continue;
      PushBounded(number, most, hotter, candidates.newcomers);
      least = worst_count(candidates.newcomers, kNothing);
    }
    float greatest = worst_count(candidates.victims, kEverything);
    for (int number = first + num_experts_ - 1; number >= first; --number) {
      if (counts_[number] > greatest || places[number] != Place::kSlot) continue;
      PushBounded(number, most, colder, candidates.victims);
      greatest = worst_count(candidates.victims, kEverything);
    }
  }
  for (Candidates& candidates : candidates_) {
    std::sort_heap(candidates.newcomers.begin(), candidates.newcomers.end(), hotter);
    std::sort_heap(candidates.victims.begin(), candidates.victims.end(), colder);
  }
}

// The hottest newcomers take the empty slots, the next ones those of the coldest victims: within a
// class each pair saves no more than the one before it.
void SwapPolicy::AddPairs(const SwapRates& rates, int size_class, int num_empty) {
  const Candidates& candidates = candidates_[size_class];
  const int64_t bytes = class_bytes_[size_class];
  const double miss_ns = rates.MissNs(bytes);
  const double copy_ns = rates.CopyNs(bytes);
  for (size_t i = 0; i < candidates.newcomers.size(); ++i) {
    Swap swap = {.newcomer = candidates.newcomers[i], .bytes = bytes};
    double uses = counts_[swap.newcomer];
    if (i >= static_cast<size_t>(num_empty)) {
      const size_t victim = i - num_empty;
      if (victim == candidates.victims.size()) return;
      swap.victim = candidates.victims[victim];
      uses -= counts_[swap.victim];
    }
    if (uses * miss_ns <= copy_ns * (1 + options_.margin)) return;
    swap.predicted_saving_ns = uses * miss_ns - copy_ns;
    swaps_.push_back(swap);
  }
}

void SwapPolicy::KeepBest() {
  std::sort(swaps_.begin(), swaps_.end(), [this](const Swap& a, const Swap& b) {
    if (a.predicted_saving_ns != b.predicted_saving_ns) {
      return a.predicted_saving_ns > b.predicted_saving_ns;
    }
    return rank_[a.newcomer] < rank_[b.newcomer];
  });
  size_t num_kept = 0;
  int64_t bytes = 0;
  for (const Swap& swap : swaps_) {
    if (num_kept == static_cast<size_t>(options_.max_swaps)) break;
    if (swap.bytes > options_.max_bytes - bytes) continue;
    bytes += swap.bytes;
    swaps_[num_kept++] = swap;
  }
  swaps_.resize(num_kept);
}

void SwapPolicy::EndRound() {
  const float decay = static_cast<float>(options_.decay);
  for (float& count : counts_) {
    count *= decay;
    if (count < kNothing) count = 0;
  }
}

}  // namespace strata
