#include "strata/cache/tier/testing/landing_step.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/tier/expert_table.h"

namespace strata {

LandingStep::LandingStep(HostDevice& device, const DeviceStream& stream, const TestExperts& experts,
                         const ExpertGeometry& geometry, const ExpertTier& tier)
    : device_(device), stream_(stream), experts_(experts), geometry_(geometry), tier_(tier) {
  CHECK(tier.table().patched_by_steps());
}

void LandingStep::Launch(absl::Span<const int> numbers, bool stops_half_way) {
  numbers_.assign(numbers.begin(), numbers.end());
  std::sort(numbers_.begin(), numbers_.end());
  numbers_.erase(std::unique(numbers_.begin(), numbers_.end()), numbers_.end());
  patch_.assign(tier_.patch().begin(), tier_.patch().end());
  offers_.assign(tier_.offers().begin(), tier_.offers().end());
  groups_.assign(tier_.groups().begin(), tier_.groups().end());
  first_layer_ = tier_.first_layer();
  expected_.clear();
  for (int number = 0; number < geometry_.size(); ++number) {
    expected_.push_back(tier_.Entry(number));
  }
  stops_half_way_ = stops_half_way;
  num_given_.assign(groups_.size(), 0);
  landings_.clear();
  device_.Launch(stream_, [this] { Run(); });
}

void LandingStep::Run() {
  WritePatch();
  CompareImage();
  for (const int number : numbers_) {
    ReadAndLand(number);
    if (stops_half_way_ && !landings_.empty()) return;
  }
}

void LandingStep::WritePatch() {
  auto* const image = const_cast<std::byte*>(tier_.table().image());
  for (const TablePatch& patch : patch_) {
    std::memcpy(image + patch.number * sizeof(ExpertEntry), &patch.entry, sizeof(ExpertEntry));
  }
}

void LandingStep::CompareImage() {
  const std::byte* const image = tier_.table().image();
  for (size_t number = 0; number < expected_.size(); ++number) {
    ExpertEntry entry;
    std::memcpy(&entry, image + number * sizeof(entry), sizeof(entry));
    counts_.wrong_entries += !(entry == expected_[number]);
  }
}

void LandingStep::ReadAndLand(int number) {
  ExpertEntry entry;
  std::memcpy(&entry, tier_.table().image() + number * sizeof(entry), sizeof(entry));
  if (entry.form == EntryForm::kStage) return;
  ++counts_.num_read;
  counts_.num_hits += entry.form == EntryForm::kSlot;
  const ExpertSlices& slices = experts_.files().Slices(geometry_.IdOf(number));
  for (size_t i = 0; i < slices.size(); ++i) {
    const absl::Span<const std::byte> bytes = experts_.files().Mapped(slices[i]);
    if (std::memcmp(entry.parts[i], bytes.data(), bytes.size()) == 0) continue;
    ++counts_.wrong_experts;
    break;
  }
  if (entry.form == EntryForm::kSlot) return;
  const LandingOffer* const offer = NextOffer(number, entry);
  if (offer != nullptr) Store(number, entry, *offer);
}

const LandingOffer* LandingStep::NextOffer(int number, const ExpertEntry& entry) {
  if (entry.landing == 0 || groups_.empty()) return nullptr;
  const int landing_class = entry.landing - 1;
  const LandingGroup& group = groups_[landing_class];
  const int layer = number / geometry_.num_experts();
  int& num_given = num_given_[landing_class];
  const int num_there = layer < first_layer_ ? group.num_early : group.num_offers;
  return num_given < num_there ? &offers_[group.first_offer + num_given++] : nullptr;
}

void LandingStep::Store(int number, const ExpertEntry& entry, const LandingOffer& offer) {
  const ExpertSlices& slices = experts_.files().Slices(geometry_.IdOf(number));
  for (size_t i = 0; i < slices.size(); ++i) {
    const auto bytes = static_cast<size_t>(slices[i].bytes);
    std::memcpy(offer.parts[i], entry.parts[i], stops_half_way_ ? bytes / 2 : bytes);
  }
  landings_.push_back({.expert = number, .slot = offer.slot});
  counts_.num_landed += !stops_half_way_;
}

}  // namespace strata
