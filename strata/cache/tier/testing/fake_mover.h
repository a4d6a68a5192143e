// A mover that moves nothing: the test looks what was asked of it and says how it ended.
#ifndef STRATA_CACHE_TIER_TESTING_FAKE_MOVER_H_
#define STRATA_CACHE_TIER_TESTING_FAKE_MOVER_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/tier/expert_mover.h"
#include "strata/core/gguf/expert_layout.h"

namespace strata {

class FakeMover : public ExpertMover {
 public:
  // --- For the test ---

  // What was started last.
  const std::vector<ExpertId>& aliases() const { return aliases_; }
  const Copies& copies() const { return copies_; }
  const std::vector<FillItem>& checks() const { return checks_; }
  int num_started() const { return num_started_; }

  void End(Outcome outcome = {}) {
    CHECK(running_);
    running_ = false;
    outcome_ = std::move(outcome);
  }
  // As End, with the aliases that the arena has a place for.
  void EndAliases(const std::vector<bool>& is_there) {
    CHECK_EQ(is_there.size(), is_there_.size());
    for (size_t i = 0; i < is_there.size(); ++i) is_there_[i] = is_there[i];
    End();
  }

  // --- ExpertMover ---

  void StartAliases(absl::Span<const ExpertId> experts, absl::Span<bool> is_there) override {
    Start();
    aliases_.assign(experts.begin(), experts.end());
    is_there_ = is_there;
  }
  void StartCopies(const Copies& copies) override {
    Start();
    copies_ = copies;
  }
  void StartChecks(absl::Span<const FillItem> slots) override {
    Start();
    checks_.assign(slots.begin(), slots.end());
  }
  bool busy() const override { return busy_; }
  bool running() const override { return running_; }
  // The test has forgotten to end the work.
  void Wait() override { CHECK(!running_); }
  Outcome Take() override {
    CHECK(busy_ && !running_);
    busy_ = false;
    return std::exchange(outcome_, Outcome());
  }
  int64_t num_waits() const override { return 0; }

 private:
  void Start() {
    CHECK(!busy_);
    busy_ = running_ = true;
    ++num_started_;
  }

  bool busy_ = false, running_ = false;
  int num_started_ = 0;
  std::vector<ExpertId> aliases_;
  absl::Span<bool> is_there_;
  Copies copies_;
  std::vector<FillItem> checks_;
  Outcome outcome_;
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_TESTING_FAKE_MOVER_H_
