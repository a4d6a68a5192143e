#include "strata/cache/profile/expert_profile.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "strata/cache/experts/model_identity.h"
#include "strata/cache/experts/routed_step.h"
#include "strata/core/error.h"
#include "strata/core/printable.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

absl::Status CheckTotal(absl::string_view what, uint64_t total, uint64_t more) {
  if (total <= ExpertProfile::kMaxTotal && more <= ExpertProfile::kMaxTotal - total) {
    return absl::OkStatus();
  }
  return InputError("size_overflow", "",
                    absl::StrCat("more ", what, " than ", ExpertProfile::kMaxTotal, " in all"));
}

}  // namespace

ExpertProfile::ExpertProfile(ModelIdentity identity)
    : identity_(std::move(identity)), counts_(identity_.geometry.size(), 0) {}

absl::StatusOr<ExpertProfile> ExpertProfile::Create(ModelIdentity identity,
                                                    std::vector<uint64_t> counts,
                                                    uint64_t num_tokens,
                                                    std::set<std::string> sources) {
  ExpertProfile profile(std::move(identity));
  CHECK_EQ(counts.size(), profile.counts_.size());
  for (const uint64_t count : counts) {
    RETURN_IF_ERROR(CheckTotal("routed entries", profile.num_entries_, count));
    profile.num_entries_ += count;
  }
  RETURN_IF_ERROR(CheckTotal("tokens", num_tokens, 0));
  for (const std::string& label : sources) {
    if (IsSourceLabel(label)) continue;
    return InputError("bad_source", "",
                      absl::StrCat("\"", Printable(label, kMaxSourceBytes),
                                   "\" is no label of a source: it is empty, too long, not "
                                   "UTF-8, or has control characters"));
  }
  profile.counts_ = std::move(counts);
  profile.num_tokens_ = num_tokens;
  profile.sources_ = std::move(sources);
  return profile;
}

void ExpertProfile::Count(const RoutedStep& step) {
  const size_t num_layers = geometry().layers().size();
  for (size_t layer = 0; layer < num_layers; ++layer) {
    uint64_t* const counts = &counts_[layer * static_cast<size_t>(geometry().num_experts())];
    for (int token = 0; token < step.num_accepted; ++token) {
      for (const uint16_t expert : step.Chosen(geometry(), layer, token)) ++counts[expert];
    }
  }
  const auto accepted = static_cast<uint64_t>(step.num_accepted);
  num_tokens_ += accepted;
  num_entries_ += accepted * num_layers * static_cast<uint64_t>(geometry().num_used());
}

void ExpertProfile::AddSource(const std::string& label) {
  CHECK(IsSourceLabel(label)) << label;
  sources_.insert(label);
}

absl::Status ExpertProfile::Merge(const ExpertProfile& other) {
  RETURN_IF_ERROR(other.CheckIsOf(identity_));
  RETURN_IF_ERROR(CheckTotal("routed entries", num_entries_, other.num_entries_));
  RETURN_IF_ERROR(CheckTotal("tokens", num_tokens_, other.num_tokens_));
  for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  num_entries_ += other.num_entries_;
  num_tokens_ += other.num_tokens_;
  sources_.insert(other.sources_.begin(), other.sources_.end());
  return absl::OkStatus();
}

std::vector<int> ExpertProfile::Rank() const {
  const auto hotter = [this](int a, int b) {
    return std::tie(counts_[b], a) < std::tie(counts_[a], b);
  };
  std::vector<int> numbers(counts_.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  std::sort(numbers.begin(), numbers.end(), hotter);
  // Within equal counts numbers ascend, layer by layer. An expert's turn is its place among those
  // of its own layer.
  std::vector<int> turns(counts_.size(), 0);
  const auto layer_of = [this](int number) { return number / geometry().num_experts(); };
  for (size_t i = 1; i < numbers.size(); ++i) {
    const int number = numbers[i], before = numbers[i - 1];
    if (counts_[number] == counts_[before] && layer_of(number) == layer_of(before)) {
      turns[number] = turns[before] + 1;
    }
  }
  std::sort(numbers.begin(), numbers.end(), [&](int a, int b) {
    return std::tie(counts_[b], turns[a], a) < std::tie(counts_[a], turns[b], b);
  });
  return numbers;
}

bool ExpertProfile::IsSourceLabel(absl::string_view label) {
  return !label.empty() && label.size() <= kMaxSourceBytes && WithoutControls(label) == label;
}

}  // namespace strata
