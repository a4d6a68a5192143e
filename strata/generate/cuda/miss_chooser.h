// Which of two ways a step takes to serve what it misses, by what whole steps of each have taken
// while the model runs: micro-benchmarks know neither the text's hits nor what else the machine
// does.
//
// A few steps of each are tried at first, and again a few of the other one now and then: the less
// often, the slower they were, so that trials cost a small share of the time, and half as often
// after each trial that has changed nothing. A trial ends as soon as it is clear.
//
// Pure. Used by the engine's thread.
#ifndef STRATA_GENERATE_CUDA_MISS_CHOOSER_H_
#define STRATA_GENERATE_CUDA_MISS_CHOOSER_H_

#include <array>
#include <cstdint>

namespace strata {

class MissChooser {
 public:
  enum class Way { kRead, kCpu };

  // Of the step that comes.
  Way Next() const { return way_; }
  // A step that Next() named has taken so long.
  void AddStep(double ms);

 private:
  static constexpr int kTrialSteps = 5;  // The first of them is not counted: it records its graph.
  static constexpr int kStepsBetween = 256;     // Trials, at least.
  static constexpr double kTrialShare = 0.01;   // Of the time, that trials may lose.
  static constexpr double kBetterBy = 0.98;     // Or it is not worth a change.
  static constexpr double kClearlyWorse = 1.5;  // One step says enough.
  static constexpr int kMostBackOff = 4;

  bool IsClearlyWorse(double ms) const;
  void EndTrial(double own);

  Way way_ = Way::kRead;
  bool in_trial_ = true;
  bool has_tried_both_ = false;
  int steps_ = 0;                                    // Since way_ was taken.
  int64_t until_trial_ = 0;                          // Steps.
  int back_off_ = 1;                                 // Trials are rarer by this factor.
  std::array<double, kTrialSteps - 1> recent_ = {};  // The last steps of way_, in turn.
  std::array<double, 2> median_ms_ = {};             // By way, as they were last.
};

}  // namespace strata

#endif  // STRATA_GENERATE_CUDA_MISS_CHOOSER_H_
