#include "strata/cache/policy/slot_plan.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/core/cli/byte_size.h"
#include "strata/core/error.h"

namespace strata {
namespace {

// Digits, perhaps with a point between.
bool IsPlainNumber(absl::string_view text) {
  return !text.empty() && absl::ascii_isdigit(text.front()) && absl::ascii_isdigit(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_isdigit(c) || c == '.'; });
}

// Whatever is asked for: a number near 2^63 is no int64 once it has been a double.
int64_t AtMost(double amount, int64_t most) {
  return amount < static_cast<double>(most) ? static_cast<int64_t>(amount) : most;
}

}  // namespace

absl::StatusOr<SlotBudget> SlotBudget::Parse(absl::string_view text) {
  const absl::Status refused = UsageError(
      absl::StrCat("a cache of \"", text,
                   "\": expected a number of experts, a share as 25%, or a size as 8GiB"));
  absl::string_view share = text;
  if (absl::ConsumeSuffix(&share, "%")) {
    double percent = 0;
    const bool is_share = IsPlainNumber(share) && absl::SimpleAtod(share, &percent);
    return is_share && percent <= 100 ? absl::StatusOr<SlotBudget>(Percent(percent)) : refused;
  }
  if (IsPlainNumber(text)) {
    int64_t slots = 0;
    return absl::SimpleAtoi(text, &slots) ? absl::StatusOr<SlotBudget>(Slots(slots)) : refused;
  }
  // Without a unit it would be a number of experts.
  const bool has_unit = !text.empty() && absl::ascii_isalpha(text.back());
  const absl::StatusOr<int64_t> bytes = has_unit ? ParseByteSize(text) : refused;
  return bytes.ok() ? absl::StatusOr<SlotBudget>(Bytes(*bytes)) : refused;
}

std::vector<int64_t> SizeClassesOf(const ExpertGeometry& geometry) {
  std::vector<int64_t> sizes;
  for (const ExpertGeometry::Layer& layer : geometry.layers()) sizes.push_back(layer.blob_bytes);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

int SizeClassOf(absl::Span<const int64_t> class_bytes, int64_t blob_bytes) {
  const auto found = std::lower_bound(class_bytes.begin(), class_bytes.end(), blob_bytes);
  CHECK(found != class_bytes.end() && *found == blob_bytes) << "no size class of " << blob_bytes;
  return static_cast<int>(found - class_bytes.begin());
}

SlotPlan::SlotPlan(const ExpertGeometry& geometry, const SlotBudget& budget,
                   absl::Span<const int> hottest_first)
    : class_bytes_(SizeClassesOf(geometry)) {
  CHECK(budget.amount >= 0) << "a budget of " << budget.amount;
  int64_t num_slots = geometry.size();
  int64_t num_bytes = geometry.total_blob_bytes();
  switch (budget.unit) {
    case SlotBudget::Unit::kSlots:
      num_slots = AtMost(budget.amount, num_slots);
      break;
    case SlotBudget::Unit::kPercent:
      num_slots = AtMost(std::round(geometry.size() * budget.amount / 100), num_slots);
      break;
    case SlotBudget::Unit::kBytes:
      num_bytes = AtMost(budget.amount, num_bytes);
      break;
  }
  for (const int expert : CompleteRanking(geometry, hottest_first)) {
    if (this->num_slots() >= num_slots) break;
    if (bytes_ + geometry.BlobBytes(expert) <= num_bytes) Add(expert, geometry.BlobBytes(expert));
  }
}

void SlotPlan::Add(int expert, int64_t blob_bytes) {
  experts_.push_back(expert);
  class_of_slot_.push_back(SizeClassOf(class_bytes_, blob_bytes));
  offsets_.push_back(bytes_);
  bytes_ += blob_bytes;
}

std::vector<int> SlotPlan::DefaultRanking(const ExpertGeometry& geometry) {
  std::vector<int> ranking;
  ranking.reserve(geometry.size());
  for (int index = 0; index < geometry.num_experts(); ++index) {
    for (int number = index; number < geometry.size(); number += geometry.num_experts()) {
      ranking.push_back(number);
    }
  }
  return ranking;
}

std::vector<int> SlotPlan::CompleteRanking(const ExpertGeometry& geometry,
                                           absl::Span<const int> hottest_first) {
  std::vector<int> ranking(hottest_first.begin(), hottest_first.end());
  std::vector<bool> is_ranked(geometry.size(), false);
  for (const int number : ranking) {
    CHECK(0 <= number && number < geometry.size()) << "there is no expert " << number;
    CHECK(!is_ranked[number]) << "expert " << number << " is ranked twice";
    is_ranked[number] = true;
  }
  for (const int number : DefaultRanking(geometry)) {
    if (!is_ranked[number]) ranking.push_back(number);
  }
  return ranking;
}

SlotPlan SlotPlan::Prefix(int num_slots) const {
  CHECK_LE(num_slots, this->num_slots());
  SlotPlan prefix;
  prefix.class_bytes_ = class_bytes_;
  for (int slot = 0; slot < num_slots; ++slot) prefix.Add(experts_[slot], SlotBytes(slot));
  return prefix;
}

std::string SlotPlan::Describe() const {
  return absl::StrFormat("%d slots, %.1f MiB in all,", num_slots(),
                         static_cast<double>(bytes_) / (1 << 20));
}

}  // namespace strata
