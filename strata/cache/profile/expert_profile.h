// How often a model's experts were chosen, over some texts: the counts by which a cache is filled.
//
// Counts add, so profiles merge in any order and any grouping, and merging one twice counts it
// twice. Sources are labels of what was read, a set. Files: expert_profile_file.h; figures drawn
// from a profile: profile_figures.h. Thread-compatible.
#ifndef STRATA_CACHE_PROFILE_EXPERT_PROFILE_H_
#define STRATA_CACHE_PROFILE_EXPERT_PROFILE_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/experts/model_identity.h"
#include "strata/cache/experts/routed_step.h"

namespace strata {

class ExpertProfile {
 public:
  // No sum of counts, and no number of tokens, passes this.
  static constexpr uint64_t kMaxTotal = std::numeric_limits<int64_t>::max();
  static constexpr size_t kMaxSourceBytes = 255;

  // Nothing counted yet.
  explicit ExpertProfile(ModelIdentity identity);
  // `counts` by expert number. Kinds, without a file: size_overflow past kMaxTotal, bad_source.
  static absl::StatusOr<ExpertProfile> Create(ModelIdentity identity, std::vector<uint64_t> counts,
                                              uint64_t num_tokens, std::set<std::string> sources);

  const ModelIdentity& identity() const { return identity_; }
  const ExpertGeometry& geometry() const { return identity_.geometry; }
  const std::vector<uint64_t>& counts() const { return counts_; }
  // Their sum: (token, layer, rank) triples.
  uint64_t num_entries() const { return num_entries_; }
  uint64_t num_tokens() const { return num_tokens_; }
  const std::set<std::string>& sources() const { return sources_; }

  // Counts the accepted tokens. The step is of this geometry.
  void Count(const RoutedStep& step);
  // Of IsSourceLabel.
  void AddSource(const std::string& label);
  // Adds all that `other` counted. Kinds, without a file, this profile left as it was:
  // profile_mismatch, size_overflow.
  absl::Status Merge(const ExpertProfile& other);

  // Kind profile_mismatch, without a file.
  absl::Status CheckIsOf(const ModelIdentity& model) const { return identity_.CheckIs(model); }

  // All expert numbers, hottest first; those that were never chosen come last. Equal counts take
  // turns among the layers, so every start of the list is spread as evenly as the counts allow.
  std::vector<int> Rank() const;

  // 1 to kMaxSourceBytes bytes of UTF-8 without control characters.
  static bool IsSourceLabel(absl::string_view label);

  friend bool operator==(const ExpertProfile&, const ExpertProfile&) = default;

 private:
  ModelIdentity identity_;
  std::vector<uint64_t> counts_;
  uint64_t num_entries_ = 0;
  uint64_t num_tokens_ = 0;
  std::set<std::string> sources_;
};

}  // namespace strata

#endif  // STRATA_CACHE_PROFILE_EXPERT_PROFILE_H_
