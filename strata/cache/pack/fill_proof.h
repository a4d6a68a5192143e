// Proves that slots hold the right bytes: drives an expert tier as an engine does (fills at start,
// loans and what comes back after them, swaps) and after each reads every slot back and compares it
// with the model's files or with a pack.
//
// Used by one thread. What it is given outlives it.
#ifndef STRATA_CACHE_PACK_FILL_PROOF_H_
#define STRATA_CACHE_PACK_FILL_PROOF_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/host/host_placement.h"
#include "strata/cache/pack/slot_reader.h"
#include "strata/cache/pack/slot_reference.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/tier/expert_tier.h"
#include "strata/cache/tier/fill_queue.h"
#include "strata/core/device.h"
#include "strata/core/gguf/expert_layout.h"

namespace strata {

class FillProof {
 public:
  struct Options {
    SlotBudget slots;
    std::vector<int> hottest_first;  // Numbers; may lack some, or all.
    HostPlacement::Options host;
    int num_readers = 8;
    uint64_t seed = 1;  // Of the swaps.
  };
  // A part of a slot that is not what it should be.
  struct Fault {
    int slot = 0;
    ExpertId expert;
    size_t part = 0;
    SlotReference::Difference difference;
  };
  struct Verified {
    int num_slots = 0;  // Read back: those that hold an expert.
    int64_t bytes = 0;
    double seconds = 0;
    std::vector<Fault> faults;  // By slot and part.
  };

  // `files` is what slots are filled from. The errors of HostPlacement and ExpertTier.
  static absl::StatusOr<std::unique_ptr<FillProof>> Create(const Options& options,
                                                           const ExpertGeometry& geometry,
                                                           const ExpertFiles& files,
                                                           const SlotReference& reference,
                                                           Device& device);

  // Each returns when all copies have ended; an error is a file's or the device's.
  absl::StatusOr<FillReport> Fill(std::function<void(const FillProgress&)> progress = {});
  // Lends so many tail slots, writes all over them, and waits until their experts are back.
  absl::Status LendAndRefill(int num_slots);
  // Random experts without a slot come in place of others, at least `num_swaps` of them. When all
  // have slots, some are lent first, again and again, and the experts come back into any of them.
  // kFailedPrecondition when there is no slot.
  absl::Status Swap(int num_swaps);

  // Of the first slot alone, or of all.
  absl::StatusOr<Verified> VerifyFirst() { return Verify(1); }
  absl::StatusOr<Verified> VerifyAll() { return Verify(tier_->slots().num_slots()); }

  const ExpertTier& tier() const { return *tier_; }
  const HostPlacement& host() const { return *host_; }

 private:
  FillProof(const Options& options, const ExpertGeometry& geometry, const ExpertFiles& files,
            const SlotReference& reference, Device& device);
  absl::Status Place();
  // Of the first so many slots.
  absl::StatusOr<Verified> Verify(int num_slots);
  absl::Status Lend(int num_slots);
  absl::Status WriteOver(absl::Span<std::byte> memory, SlotLoan& loan);
  void UseRandomExperts();
  // Steps of nobody, until `done` or a copy has failed; `use` is called within each. kUnavailable
  // when slots no longer change.
  absl::Status StepUntil(absl::FunctionRef<bool()> done, absl::FunctionRef<void()> use);
  absl::Status Settle();
  // Why fills and swaps have failed, if any have.
  absl::Status CheckCopies() const;
  std::vector<int> WithoutSlot() const;

  const Options options_;
  const ExpertGeometry& geometry_;
  const ExpertFiles& files_;
  const SlotReference& reference_;
  Device& device_;
  std::mt19937_64 random_;
  std::unique_ptr<HostPlacement> host_;
  std::unique_ptr<ExpertTier> tier_;
  std::unique_ptr<SlotReader> reader_;
};

}  // namespace strata

#endif  // STRATA_CACHE_PACK_FILL_PROOF_H_
