#include "strata/cache/tier/testing/tier_machine.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/tier/expert_table.h"
#include "strata/cache/tier/slot_cache.h"

namespace strata {

void StepChecker::Launch(std::vector<int> numbers, bool exactly) {
  std::vector<ExpertEntry> expected;
  for (const int number : numbers) expected.push_back(table_.entry(number));
  num_launched_ += static_cast<int64_t>(numbers.size());
  device_.Launch(
      stream_, [this, exactly, numbers = std::move(numbers), expected = std::move(expected)] {
        for (size_t i = 0; i < numbers.size(); ++i) {
          ExpertEntry entry = expected[i];
          if (table_.image() != nullptr) {
            std::memcpy(&entry, table_.image() + numbers[i] * sizeof(entry), sizeof(entry));
          }
          ++num_read_;
          if (exactly && !(entry == expected[i])) {
            ++num_wrong_;
          } else if (!IsRight(numbers[i], entry)) {
            ++num_wrong_;
          }
        }
      });
}

bool StepChecker::IsRight(int number, const ExpertEntry& entry) const {
  if (entry.parts[0] == nullptr) return entry.form == EntryForm::kStage;
  const ExpertSlices& slices = experts_.files().Slices(geometry_.IdOf(number));
  for (size_t i = 0; i < slices.size(); ++i) {
    const absl::Span<const std::byte> bytes = experts_.files().Mapped(slices[i]);
    if (std::memcmp(entry.parts[i], bytes.data(), bytes.size()) != 0) return false;
  }
  return true;
}

TierMachine::TierMachine(const Options& options, const HostDevice::Options& device_options)
    : TierMachineDevice(device_options),
      TierParts(device, options),
      checker(std::make_unique<StepChecker>(device, stream, experts, geometry, tier->table())) {}

TierMachine::~TierMachine() {
  device.faults().Heal();
  device.ClearError();
  device.Drain(stream);
  previous_ = last_ = DeviceEvent();
  checker.reset();
  tier.reset();
}

void TierMachine::Step(const std::vector<Token>& tokens, bool accepted) {
  Await(std::exchange(previous_, last_));
  tier->BeginStep();
  std::vector<int> numbers;
  for (const Token& token : tokens) {
    for (size_t layer = 0; layer < token.size(); ++layer) {
      for (const int index : token[layer]) {
        numbers.push_back(static_cast<int>(layer) * geometry.num_experts() + index);
      }
    }
  }
  checker->Launch(std::move(numbers), !faulty);
  for (const Token& token : tokens) {
    for (size_t layer = 0; layer < token.size(); ++layer) {
      for (const int index : token[layer]) {
        tier->CountUses({.layer = geometry.layers()[layer].block, .index = index}, 1, accepted);
      }
    }
  }
  absl::StatusOr<DeviceEvent> event = device.Record(stream);
  while (!event.ok()) {
    device.ClearError();
    event = device.Record(stream);
  }
  last_ = *event;
  tier->EndStep(*std::move(event));
}

void TierMachine::Await(const DeviceEvent& event) {
  if (event.empty()) return;
  device.Drain(event);
  if (!faulty) return;
  device.ClearError();
  if (device.Wait(event).ok()) return;
  // Later steps of the stream have failed with it.
  ++num_failed_steps;
  device.Drain(stream);
  device.ClearError();
  absl::Status recovered = tier->RecoverTable();
  while (!recovered.ok()) {
    device.ClearError();
    recovered = tier->RecoverTable();
  }
}

void TierMachine::FinishSteps() {
  Await(std::exchange(previous_, DeviceEvent()));
  Await(last_);
}

int TierMachine::StepUntil(const std::vector<int>& indices, const std::function<bool()>& is_done) {
  constexpr int kForEver = 100000;
  int num_steps = 0;
  while (!is_done()) {
    CHECK_LT(num_steps++, kForEver);
    StepWith(indices);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return num_steps;
}

bool TierMachine::ServesFromSlots(const std::vector<int>& indices) const {
  for (const ExpertGeometry::Layer& layer : geometry.layers()) {
    for (const int index : indices) {
      const int number = geometry.NumberOf({.layer = layer.block, .index = index});
      if (tier->Entry(number).form != EntryForm::kSlot) return false;
    }
  }
  return true;
}

void TierMachine::Settle() {
  int num_quiet = 0;
  while (num_quiet < 3) {
    Step({});
    device.Drain(stream);
    num_quiet = IsSettled() ? num_quiet + 1 : 0;
  }
}

int TierMachine::NumWrongSlots(int first, int stride) const {
  int num_wrong = 0;
  const SlotCache& slots = tier->slots();
  for (int slot = first; slot < slots.num_slots(); slot += stride) {
    if (slots.state(slot) != SlotState::kResident) continue;
    num_wrong += !experts.IsBlobOf(geometry.IdOf(slots.expert(slot)), slots.data(slot));
  }
  return num_wrong;
}

}  // namespace strata
