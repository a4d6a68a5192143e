// S3-FIFO, which withstands scans: newcomers pass a small queue and are gone soon unless they are
// used again; those that are, and those that left not long ago and came back, enter the main queue,
// where uses (up to three) buy another round. Ghosts are the experts that left the small queue.
// Every candidate comes in. Yang, Zhang, Qiu, Yue, Rashmi: FIFO queues are all you need for cache
// eviction, SOSP 2023.
//
// Each size class has queues of its own. Used by one thread.
#ifndef STRATA_CACHE_POLICY_S3_FIFO_POLICY_H_
#define STRATA_CACHE_POLICY_S3_FIFO_POLICY_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/expert_order.h"
#include "strata/cache/policy/expert_policy.h"

namespace strata {

class S3FifoPolicy : public ExpertPolicy {
 public:
  explicit S3FifoPolicy(const ExpertGeometry& geometry);

  absl::string_view name() const override { return "s3fifo"; }
  bool Wants(int /*number*/) override { return true; }
  absl::Span<const Admission> EndStep(const Step& step) override;
  // Residents that the policy did not let in join the main queue.
  void SetPlace(int number, Place place) override;

 private:
  // An entry whose stamp is not its expert's any more is none.
  struct Entry {
    int number = 0;
    uint32_t stamp = 0;
  };
  struct Queues {
    std::deque<Entry> small;
    std::deque<Entry> main;
    std::deque<Entry> ghosts;
    int num_small = 0;
    int num_main = 0;
    int num_ghosts = 0;
    int num_slots = 0;  // As of this step.
  };
  enum class Where : uint8_t { kNowhere, kSmall, kMain, kGhost };

  bool IsQueued(int number) const {
    return where_[number] == Where::kSmall || where_[number] == Where::kMain;
  }
  // Victims that the caller did not move out are residents still.
  void TakeBackVictims();

  void Enter(int number, Where where);
  void Leave(int number);
  // The next victim, out of its queue; -1 when there is none.
  int Evict(Queues& queues);
  bool PopCurrent(std::deque<Entry>& queue, Where where, int& number);

  const ExpertOrder order_;
  std::vector<Queues> queues_;  // By size class.
  std::vector<Place> places_;
  std::vector<Where> where_;
  std::vector<Where> enters_;  // The queue that it joins once it is in a slot.
  std::vector<uint8_t> uses_;  // Since it entered, at most three.
  std::vector<uint32_t> stamps_;
  std::vector<int> num_empty_;
  std::vector<Admission> admissions_;
};

}  // namespace strata

#endif  // STRATA_CACHE_POLICY_S3_FIFO_POLICY_H_
