#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "cuda_runtime_api.h"
#include "gtest/gtest.h"
#include "strata/cache/tier/expert_entry.h"
#include "strata/cache/tier/landing.h"
#include "strata/generate/kernels/cuda/device_array.h"
#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/expert_state.h"
#include "strata/generate/kernels/cuda/fetch_misses.h"
#include "strata/generate/kernels/cuda/kernel_test.h"
#include "strata/generate/kernels/cuda/landing_places.h"

namespace strata {
namespace {

constexpr int kLayers = 6;
constexpr int kParts = 3;
// The last is no whole number of words.
constexpr std::array<int64_t, kParts> kPartBytes = {4096 + 16, 48, 1000};
constexpr std::array<int64_t, kParts> kPartOffsets = {0, 4352, 4608};
constexpr int64_t kBlobBytes = 5632;

// Steps of several layers, by the kernel and by the rule of landing.h. "Host memory" is device memory
// as well: the kernel cannot tell.
class FetchMissesTest : public KernelTest {
 protected:
  struct Step {
    int rows, num_experts, num_chosen, first_layer, room;
    bool leaves_rest;
    std::vector<LandingGroup> groups;
    std::vector<LandingOffer> offers;
    std::vector<ExpertEntry> entries;           // Of all layers.
    std::vector<std::vector<int32_t>> choices;  // By layer.
  };

  static std::array<const std::byte*, kParts> PartsAt(const std::byte* blob) {
    return {blob + kPartOffsets[0], blob + kPartOffsets[1], blob + kPartOffsets[2]};
  }

  Step RandomStep(int rows, int num_experts, int num_chosen, const std::byte* blobs,
                  std::byte* slots) {
    Step step = {rows,
                 num_experts,
                 num_chosen,
                 static_cast<int>(random_() % kLayers),
                 static_cast<int>(random_() % 20),
                 random_() % 3 == 0};
    for (int i = 0; i < 2; ++i) {
      const auto count = static_cast<int32_t>(random_() % 9);
      step.groups.push_back({.first_offer = static_cast<int32_t>(step.offers.size()),
                             .num_offers = count,
                             .num_early = static_cast<int32_t>(random_() % (count + 1))});
      for (int j = 0; j < count; ++j) {
        const auto slot = static_cast<int32_t>(step.offers.size());
        LandingOffer offer = {.slot = slot};
        for (int part = 0; part < kParts; ++part) {
          offer.parts[part] = slots + slot * kBlobBytes + kPartOffsets[part];
        }
        step.offers.push_back(offer);
      }
    }
    for (int number = 0; number < kLayers * num_experts; ++number) {
      ExpertEntry entry = {.parts = PartsAt(blobs + number * kBlobBytes),
                           .generation = static_cast<uint32_t>(random_())};
      entry.form = random_() % 3 == 0 ? EntryForm::kSlot : EntryForm::kRegistered;
      const auto landing_class = static_cast<uint8_t>(number / num_experts % 2);
      entry.landing = random_() % 4 == 0 ? 0 : landing_class + 1;
      step.entries.push_back(entry);
    }
    for (int layer = 0; layer < kLayers; ++layer) step.choices.push_back(RandomChoices(step));
    return step;
  }

  std::vector<int32_t> RandomChoices(const Step& step) {
    std::vector<int32_t> choices;
    for (int row = 0; row < step.rows; ++row) {
      std::set<int32_t> of_row;
      while (static_cast<int>(of_row.size()) < step.num_chosen) {
        of_row.insert(static_cast<int32_t>(random_() % static_cast<unsigned>(step.num_experts)));
      }
      choices.insert(choices.end(), of_row.begin(), of_row.end());
      std::shuffle(choices.end() - step.num_chosen, choices.end(), random_);
    }
    return choices;
  }

  static std::vector<Landing> Expected(const Step& step) {
    std::vector<Landing> landings;
    std::vector<int> cursor(step.groups.size(), 0);
    for (int layer = 0; layer < kLayers; ++layer) {
      for (const int32_t expert :
           std::set<int32_t>(step.choices[layer].begin(), step.choices[layer].end())) {
        const int number = layer * step.num_experts + expert;
        const ExpertEntry& entry = step.entries[number];
        if (entry.form == EntryForm::kSlot || entry.landing == 0) continue;
        const LandingGroup& group = step.groups[entry.landing - 1];
        int& next = cursor[entry.landing - 1];
        if (next >= (layer < step.first_layer ? group.num_early : group.num_offers)) continue;
        landings.push_back({number, step.offers[group.first_offer + next++].slot});
      }
    }
    return landings;
  }

  static std::vector<uint8_t> BytesAt(const std::byte* address, int64_t count) {
    std::vector<uint8_t> bytes(static_cast<size_t>(count));
    EXPECT_EQ(cudaMemcpy(bytes.data(), address, bytes.size(), cudaMemcpyDeviceToHost), cudaSuccess);
    return bytes;
  }

  // Runs all layers; checks after each that what it chose is where the table of the layer says.
  void RunAndCheck(const Step& step, const std::vector<uint8_t>& blobs) {
    std::vector<DeviceLandingGroup> groups;
    for (const LandingGroup& group : step.groups) groups.push_back({.group = group});
    std::vector<DeviceExpert> table(step.entries.size());
    std::memcpy(static_cast<void*>(table.data()), step.entries.data(),
                table.size() * sizeof(DeviceExpert));
    const DeviceArray<DeviceLandingHead> head(
        std::vector<DeviceLandingHead>{{.first_layer = step.first_layer}});
    const DeviceArray<DeviceLandingGroup> device_groups(groups);
    std::vector<LandingOffer> offers = step.offers;
    offers.emplace_back();  // So that there is one.
    const DeviceArray<LandingOffer> device_offers(offers);
    const DeviceArray<DeviceExpert> device_table(table);
    const DeviceArray<DeviceLandingCount> count(std::vector<DeviceLandingCount>(1));
    const DeviceArray<Landing> landings(std::ssize(offers));
    const DeviceArray<DeviceExpert> found(step.num_experts);
    const DeviceArray<uint8_t> memory(step.room * kBlobBytes + 1);
    for (int layer = 0; layer < kLayers; ++layer) {
      const DeviceArray<int32_t> choices(step.choices[layer]);
      FetchTask task = {.rows = step.rows,
                        .routing = {.num_experts = step.num_experts,
                                    .num_chosen = step.num_chosen,
                                    .experts = choices.data()},
                        .experts = device_table.data() + layer * step.num_experts,
                        .num_parts = kParts,
                        .found = found.data(),
                        .memory = reinterpret_cast<std::byte*>(memory.data()),
                        .memory_bytes = step.room * kBlobBytes,
                        .leaves_rest = step.leaves_rest,
                        .layer = layer,
                        .head = head.data(),
                        .num_groups = static_cast<int>(groups.size()),
                        .groups = device_groups.data(),
                        .offers = device_offers.data(),
                        .count = count.data(),
                        .landings = landings.data()};
      std::copy(kPartBytes.begin(), kPartBytes.end(), task.part_bytes);
      ASSERT_TRUE(FetchMisses(task, stream_).ok());
      CheckLayer(step, layer, blobs, found.Read(), memory.data());
    }
    const std::vector<Landing> all = landings.Read();
    const std::vector<Landing> got(all.begin(), all.begin() + count.Read()[0].count);
    EXPECT_EQ(got, Expected(step));
  }

  void CheckLayer(const Step& step, int layer, const std::vector<uint8_t>& blobs,
                  const std::vector<DeviceExpert>& found, const uint8_t* memory) {
    int num_in_place = 0, num_in_memory = 0;
    for (const int32_t expert :
         std::set<int32_t>(step.choices[layer].begin(), step.choices[layer].end())) {
      const int number = layer * step.num_experts + expert;
      const ExpertEntry& entry = step.entries[number];
      const DeviceExpert& place = found[expert];
      for (int part = 0; part < kParts; ++part) {
        const auto begin = blobs.begin() + number * kBlobBytes + kPartOffsets[part];
        ASSERT_EQ(BytesAt(place.parts[part], kPartBytes[part]),
                  std::vector<uint8_t>(begin, begin + kPartBytes[part]))
            << "layer " << layer << ", expert " << expert << ", part " << part;
      }
      const bool stays = place.parts[0] == entry.parts[0];
      EXPECT_TRUE(stays || entry.form != EntryForm::kSlot);
      const bool is_left = step.leaves_rest && stays && entry.form != EntryForm::kSlot;
      EXPECT_EQ(IsSlotState(place.unused), !is_left);
      num_in_place += stays && entry.form != EntryForm::kSlot;
      const auto* const at = reinterpret_cast<const uint8_t*>(place.parts[0]);
      num_in_memory += memory <= at && at < memory + step.room * kBlobBytes;
    }
    const int room = step.leaves_rest ? 0 : step.room;
    EXPECT_TRUE(num_in_place == 0 || num_in_memory == room) << "there was room";
  }
};

TEST_F(FetchMissesTest, BringsWhatIsMissedToOffersAndToMemoryWhileThereIsRoom) {
  for (int i = 0; i < 60; ++i) {
    const int rows = i % 3 == 0 ? 1 : 1 + static_cast<int>(random_() % 16);
    const int num_experts = i % 7 == 0 ? 1024 : 8 + static_cast<int>(random_() % 250);
    const int num_chosen = 1 + static_cast<int>(random_() % 8);
    std::vector<uint8_t> blobs(static_cast<size_t>(kLayers * num_experts * kBlobBytes));
    for (uint8_t& byte : blobs) byte = static_cast<uint8_t>(random_());
    const DeviceArray<uint8_t> device_blobs(blobs);
    const DeviceArray<uint8_t> slots(20 * kBlobBytes);
    const Step step = RandomStep(rows, num_experts, num_chosen,
                                 reinterpret_cast<const std::byte*>(device_blobs.data()),
                                 reinterpret_cast<std::byte*>(slots.data()));
    RunAndCheck(step, blobs);
    if (HasFailure()) FAIL() << "step " << i;
  }
}

}  // namespace
}  // namespace strata
