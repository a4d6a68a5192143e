// Which experts a token goes to, and with what weights.
//
// The logits are those of a product with F32 weights, whatever type the router is stored in and
// however many tokens a step has: one flipped choice changes all that follows. Equal scores go to
// the lower index. Sums over the chosen experts run in the order of their rank.
#ifndef STRATA_GENERATE_KERNELS_ROUTER_H_
#define STRATA_GENERATE_KERNELS_ROUTER_H_

#include <vector>

#include "absl/types/span.h"
#include "strata/generate/model/routing_options.h"

namespace strata {

struct ExpertChoice {
  int expert = 0;
  float weight = 0.0f;
};

// Working memory of a thread that chooses; kept from token to token.
struct RouterScratch {
  std::vector<float> probabilities, scores;
  std::vector<int> order;
};

// Thread-safe.
class Router {
 public:
  // The options outlive the router and must agree with each other: 0 < num_chosen <= experts of the
  // groups used, and so on.
  explicit Router(const RouterOptions& options);
  explicit Router(RouterOptions&&) = delete;

  // The num_chosen best experts, best first, into `chosen`. `logits` (a router's bias already
  // added) are finite.
  void Choose(absl::Span<const float> logits, RouterScratch& scratch,
              absl::Span<ExpertChoice> chosen) const;

 private:
  void KeepBestGroups(absl::Span<float> scores) const;
  void Weigh(absl::Span<const float> logits, absl::Span<const float> probabilities,
             absl::Span<ExpertChoice> chosen) const;

  const RouterOptions& options_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_ROUTER_H_
