// What the steps of one or several runs used, in memory and ready to be replayed: for each step the
// distinct experts, ascending, with how many tokens chose them.
//
// Thread-compatible; 12 bytes for each distinct use.
#ifndef STRATA_CACHE_SIMULATE_ROUTING_LOG_H_
#define STRATA_CACHE_SIMULATE_ROUTING_LOG_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/experts/model_identity.h"
#include "strata/cache/experts/routed_step.h"
#include "strata/cache/policy/expert_policy.h"

namespace strata {

class RoutingLog {
 public:
  explicit RoutingLog(ExpertGeometry geometry);
  // The steps of these traces, one trace after the other. Errors are of RoutingTraceReader;
  // profile_mismatch when the traces are not of one model.
  static absl::StatusOr<RoutingLog> Load(absl::Span<const std::string> paths);

  // A step of this geometry.
  void Add(const RoutedStep& step);
  // The uses of a step, ascending by number, none twice.
  void AddUses(absl::Span<const ExpertUse> uses, int num_tokens);
  // The same steps with every `window` successive steps of one token made one, as if as many tokens
  // were computed at once and all accepted.
  RoutingLog Windowed(int window) const;

  const ExpertGeometry& geometry() const { return geometry_; }
  size_t num_steps() const { return ends_.size(); }
  absl::Span<const ExpertUse> uses(size_t step) const {
    const size_t begin = step == 0 ? 0 : ends_[step - 1];
    return absl::MakeConstSpan(uses_).subspan(begin, ends_[step] - begin);
  }
  int num_tokens(size_t step) const { return num_tokens_[step]; }
  int64_t total_tokens() const { return total_tokens_; }
  int64_t num_uses() const { return static_cast<int64_t>(uses_.size()); }
  // By expert, uses by accepted tokens.
  std::vector<int64_t> Counts() const;

 private:
  void Count(int number, int accepted, int routed);
  void EndStep(int num_tokens);

  ExpertGeometry geometry_;
  std::vector<ExpertUse> uses_;
  std::vector<size_t> ends_;  // By step, in uses_.
  std::vector<int> num_tokens_;
  int64_t total_tokens_ = 0;
  std::vector<ExpertUse> counted_;  // By expert, of the step that is being added,
  std::vector<int> touched_;        // and those that it used.
};

}  // namespace strata

#endif  // STRATA_CACHE_SIMULATE_ROUTING_LOG_H_
