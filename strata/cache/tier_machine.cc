#include "strata/cache/tier_machine.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/expert_files.h"

namespace strata {

ExpertGeometry GeometryOf(const TestExperts& experts, int num_used) {
  std::vector<ExpertGeometry::Layer> layers;
  int num_experts = 0;
  for (const ExpertId id : experts.ids()) {
    num_experts = std::max(num_experts, id.index + 1);
    if (id.index > 0) continue;
    ExpertGeometry::Layer layer = {.block = id.layer, .blob_bytes = experts.files().BlobBytes(id)};
    for (const ExpertSlice& slice : experts.files().Slices(id)) layer.expert_bytes += slice.bytes;
    layers.push_back(layer);
  }
  return ExpertGeometry(std::move(layers), num_experts, num_used);
}

void StepChecker::Launch(std::vector<int> numbers, bool exactly) {
  std::vector<ExpertEntry> expected;
  for (const int number : numbers) expected.push_back(table_.entry(number));
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

TierMachine::TierMachine(const Options& options)
    : experts(options.experts),
      geometry(GeometryOf(experts, options.num_used)),
      device(options.device),
      budget(int64_t{1} << 40, "a test"),
      memory(device, budget),
      reader(experts.files()),
      registered(experts.files(), device, budget),
      plan(geometry, options.budget, options.tier.hottest_first) {
  if (options.host == Host::kRegistered) registered.Register(experts.ids());
  if (options.host == Host::kArena) {
    std::vector<bool> is_planned(geometry.size(), false);
    for (const int expert : plan.experts()) is_planned[expert] = true;
    std::vector<ExpertId> others;
    for (int number = 0; number < geometry.size(); ++number) {
      if (!is_planned[number]) others.push_back(geometry.IdOf(number));
    }
    auto made =
        PinnedArena::Create({.num_spare_places = options.num_spare_places}, others, reader, memory);
    if (made.ok()) arena = *std::move(made);
  }
  stages =
      std::move(StagePool::Create(
                    {.stage_bytes = experts.files().max_blob_bytes(), .num_stages = 4}, memory))
          .value();
  patches = std::move(StagePool::Create({.stage_bytes = options.patch_bytes,
                                         .num_stages = options.num_patches,
                                         .min_stages = 1},
                                        memory))
                .value();
  source = std::make_unique<ExpertSource>(reader, &registered, arena.get());
  stream = std::move(device.CreateStream()).value();
  ExpertTier::Options tier_options = options.tier;
  if (options.image) {
    tier_options.table_stream = &stream;
    tier_options.table_patches = patches.get();
  }
  tier =
      std::move(
          ExpertTier::Create(
              tier_options, geometry, plan,
              {.device = device, .source = *source, .arena = arena.get(), .stages = stages.get()}))
          .value();
  tier->SetRates({.copy_bytes_per_ns = 1, .miss_fixed_ns = 0, .miss_ns_per_byte = 1});
  checker = std::make_unique<StepChecker>(device, stream, experts, geometry, tier->table());
}

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
      tier->CountRouting(geometry.layers()[layer].block, token[layer], accepted);
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

void TierMachine::Settle() {
  int num_quiet = 0;
  while (num_quiet < 3) {
    Step({});
    device.Drain(stream);
    const bool quiet = tier->slots().NumIn(SlotState::kCopying) == 0 && tier->fill_done();
    num_quiet = quiet ? num_quiet + 1 : 0;
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
