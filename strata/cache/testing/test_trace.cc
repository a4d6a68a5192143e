#include "strata/cache/testing/test_trace.h"

#include <cstdint>
#include <numeric>

#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/experts/routed_step.h"
#include "strata/cache/policy/landing_rule.h"
#include "strata/cache/testing/test_profile.h"
#include "strata/cache/trace/trace_records.h"

namespace strata {

TraceHeader TestTraceHeader(int num_experts) {
  TraceHeader header = {.identity = TestIdentity(/*num_layers=*/2, num_experts, /*num_used=*/2)};
  const int size = header.identity.geometry.size();
  header.tier = {.slots = {{.blob_bytes = 1024, .expert = 2}, {.blob_bytes = 1524}},
                 .adapt_every = 4,
                 .max_swaps = 32,
                 .max_bytes = int64_t{1} << 40,
                 .decay = 0.99,
                 .margin = 0.25,
                 .ranking = {},
                 .seed_counts = {},
                 .offered_share = 0.02,
                 .landing_rule = LandingRule::kLearned,
                 .landing_classes = {0, 1},
                 .num_offered = {1, 0},
                 .uses_per_step = {},
                 .notes = {{"placement", "registered"}, {"verify", "all"}}};
  header.tier.ranking.resize(size);
  std::iota(header.tier.ranking.rbegin(), header.tier.ranking.rend(), 0);
  header.tier.seed_counts.assign(size, 1.5f);
  header.tier.uses_per_step.assign(size, 0.25f);
  return header;
}

RoutedStep TestStep(const ExpertGeometry& geometry, int64_t number, int num_tokens) {
  RoutedStep step = {.number = number,
                     .first_position = 10 * number,
                     .kind = num_tokens > 1 ? RoutedStep::Kind::kPrompt : RoutedStep::Kind::kDecode,
                     .num_tokens = num_tokens,
                     .num_accepted = num_tokens};
  const int64_t choices =
      static_cast<int64_t>(geometry.layers().size()) * num_tokens * geometry.num_used();
  for (int64_t i = 0; i < choices; ++i) {
    step.experts.push_back(static_cast<uint16_t>((number + i) % geometry.num_experts()));
  }
  return step;
}

}  // namespace strata
