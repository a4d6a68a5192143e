#include "strata/cache/tier/testing/landing_machine.h"

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/cache/tier/slot_cache.h"
#include "strata/core/device_event.h"

namespace strata {

LandingMachine::LandingMachine(TierParts::Options options, double offered_share,
                               const HostDevice::Options& device_options)
    : device(device_options) {
  options.image = false;
  options.tier.patches_by_step = true;
  options.tier.offered_share = offered_share;
  options.tier.miss_path = MissPath::kRead;
  parts = std::make_unique<TierParts>(device, options);
  step = std::make_unique<LandingStep>(device, parts->stream, parts->experts, parts->geometry,
                                       *parts->tier);
}

absl::Status LandingMachine::Step(absl::Span<const int> numbers, Fault fault) {
  BeginStep(numbers, fault);
  return EndStep();
}

void LandingMachine::BeginStep(absl::Span<const int> numbers, Fault fault) {
  numbers_.assign(numbers.begin(), numbers.end());
  fault_ = fault;
  parts->tier->BeginStep();
  if (fault != Fault::kNotLaunched) step->Launch(numbers, fault == Fault::kStopsHalfWay);
  absl::StatusOr<DeviceEvent> event = device.Record(parts->stream);
  while (!event.ok()) {
    device.ClearError();
    event = device.Record(parts->stream);
  }
  parts->tier->EndStep(*std::move(event));
}

absl::Status LandingMachine::EndStep() {
  device.Drain(parts->stream);
  for (const int number : numbers_) {
    parts->tier->CountUses(parts->geometry.IdOf(number), 1, fault_ == Fault::kNone);
  }
  if (fault_ == Fault::kNone) return parts->tier->AddLandings(step->landings());
  parts->tier->PatchLost();
  return parts->tier->AddLandings({});
}

std::vector<int> LandingMachine::Landed() const {
  std::vector<int> experts;
  for (const Landing& landing : step->landings()) experts.push_back(landing.expert);
  return experts;
}

int LandingMachine::NumWrongSlots() const {
  const SlotCache& slots = parts->tier->slots();
  int num_wrong = 0;
  for (int slot = 0; slot < slots.num_slots(); ++slot) {
    if (slots.state(slot) != SlotState::kResident) continue;
    const ExpertId id = parts->geometry.IdOf(slots.expert(slot));
    num_wrong += !parts->experts.IsBlobOf(id, slots.data(slot));
  }
  return num_wrong;
}

}  // namespace strata
