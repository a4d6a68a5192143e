#include "strata/cache/simulate/policies.h"

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/expert_policy.h"
#include "strata/cache/policy/learned_policy.h"
#include "strata/cache/policy/round_policy.h"
#include "strata/cache/policy/s3_fifo_policy.h"
#include "strata/cache/policy/static_policy.h"
#include "strata/cache/policy/use_count_policies.h"
#include "strata/core/error.h"

namespace strata {
namespace {

std::unique_ptr<ExpertPolicy> MakeRounds(const ExpertGeometry& geometry, const PolicyStart& start,
                                         const PolicySettings& settings) {
  // Expected over the horizon of 1 / (1 - decay) rounds.
  std::vector<float> expected;
  for (const float uses : start.uses_per_step) {
    expected.push_back(
        static_cast<float>(uses * settings.rounds.adapt_every / (1 - settings.rounds.decay)));
  }
  auto policy =
      std::make_unique<RoundPolicy>(geometry, settings.rounds, start.hottest_first, expected);
  policy->SetRates(settings.rates);
  return policy;
}

}  // namespace

absl::Span<const absl::string_view> PolicyNames() {
  static constexpr absl::string_view kNames[] = {"static", "lru",    "lfu",    "adaptive",
                                                 "rounds", "s3fifo", "learned"};
  return kNames;
}

absl::StatusOr<std::unique_ptr<ExpertPolicy>> MakePolicy(absl::string_view name,
                                                         const ExpertGeometry& geometry,
                                                         const PolicyStart& start,
                                                         const PolicySettings& settings) {
  std::unique_ptr<ExpertPolicy> policy;
  if (name == "static") {
    policy = std::make_unique<StaticPolicy>();
  } else if (name == "lru") {
    policy = std::make_unique<LruPolicy>(geometry, start.hottest_first);
  } else if (name == "lfu") {
    policy = std::make_unique<LfuPolicy>(geometry, start.hottest_first, start.uses_per_step);
  } else if (name == "adaptive") {
    policy = std::make_unique<DecayedCountPolicy>(geometry, start.hottest_first,
                                                  start.uses_per_step, settings.decay);
  } else if (name == "rounds") {
    policy = MakeRounds(geometry, start, settings);
  } else if (name == "s3fifo") {
    policy = std::make_unique<S3FifoPolicy>(geometry);
  } else if (name == "learned") {
    policy = std::make_unique<LearnedPolicy>(geometry, start.hottest_first, start.uses_per_step);
  } else {
    return UsageError(absl::StrCat("there is no policy \"", name, "\"; there are ",
                                   absl::StrJoin(PolicyNames(), ", "), " and belady"));
  }
  return policy;
}

}  // namespace strata
