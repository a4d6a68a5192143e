// The experts whose bytes are pinned in place, in however many files they lie.
//
// Register is called by one thread; Holds by any number, not during Register. Files, device and
// budget outlive it.
#ifndef STRATA_CACHE_HOST_REGISTERED_EXPERTS_H_
#define STRATA_CACHE_HOST_REGISTERED_EXPERTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/host/registered_mapping.h"
#include "strata/core/device.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/pin_budget.h"

namespace strata {

class RegisteredExperts {
 public:
  RegisteredExperts(const ExpertFiles& files, Device& device, PinBudget& budget,
                    int64_t max_piece_bytes = RegisteredMapping::kMaxPieceBytes);

  // Pins experts from the first on, as many as the budget and the driver allow, and unpins all
  // others; returns how many of them are pinned. Where it is fewer than all, one line of the log
  // says why.
  int Register(absl::Span<const ExpertId> hottest_first);

  // Whether the GPU can read every slice of the expert in place.
  bool Holds(ExpertId id) const;
  int64_t registered_bytes() const;

 private:
  // The windows of the experts, by shard.
  std::vector<std::vector<FileWindow>> WindowsOf(absl::Span<const ExpertId> ids) const;
  // How many from the first on fit the budget.
  int NumAffordable(absl::Span<const ExpertId> ids) const;
  bool IsAffordable(absl::Span<const ExpertId> ids) const;
  // kResourceExhausted when fewer may fit; a shard that cannot be pinned is passed over.
  absl::Status RegisterAll(absl::Span<const ExpertId> ids);
  void Unregister();

  const ExpertFiles& files_;
  PinBudget& budget_;
  std::vector<RegisteredMapping> mappings_;  // One a shard.
};

}  // namespace strata

#endif  // STRATA_CACHE_HOST_REGISTERED_EXPERTS_H_
