#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "strata/cache/tier/expert_entry.h"
#include "strata/cache/tier/landing.h"
#include "strata/generate/kernels/cuda/assign_landings.h"
#include "strata/generate/kernels/cuda/device_array.h"
#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/kernel_test.h"
#include "strata/generate/kernels/cuda/landing_places.h"

namespace strata {
namespace {

constexpr int kLayers = 6;

// Steps of several layers, given out by the kernel and by the rule of landing.h.
class AssignLandingsTest : public KernelTest {
 protected:
  struct Step {
    int rows, num_experts, num_chosen, first_layer;
    std::vector<LandingGroup> groups;
    std::vector<LandingOffer> offers;
    std::vector<ExpertEntry> entries;           // Of all layers.
    std::vector<std::vector<int32_t>> choices;  // By layer.
  };

  Step RandomStep(int rows, int num_experts, int num_chosen) {
    Step step = {rows, num_experts, num_chosen, static_cast<int>(random_() % kLayers)};
    for (int i = 0; i < 2; ++i) {
      const auto count = static_cast<int32_t>(random_() % 9);
      step.groups.push_back({.first_offer = static_cast<int32_t>(step.offers.size()),
                             .num_offers = count,
                             .num_early = static_cast<int32_t>(random_() % (count + 1))});
      for (int j = 0; j < count; ++j) {
        step.offers.push_back({.slot = static_cast<int32_t>(random_() % 10000)});
      }
    }
    for (int number = 0; number < kLayers * num_experts; ++number) {
      ExpertEntry entry = {.generation = static_cast<uint32_t>(random_())};
      entry.form = random_() % 3 == 0 ? EntryForm::kSlot : EntryForm::kRegistered;
      const auto landing_class = static_cast<uint8_t>(number / num_experts % 2);
      entry.landing = random_() % 4 == 0 ? 0 : landing_class + 1;
      step.entries.push_back(entry);
    }
    for (int layer = 0; layer < kLayers; ++layer) {
      std::vector<int32_t>& choices = step.choices.emplace_back();
      for (int row = 0; row < rows; ++row) {
        std::set<int32_t> of_row;
        while (static_cast<int>(of_row.size()) < num_chosen) {
          of_row.insert(static_cast<int32_t>(random_() % static_cast<unsigned>(num_experts)));
        }
        choices.insert(choices.end(), of_row.begin(), of_row.end());
        std::shuffle(choices.end() - num_chosen, choices.end(), random_);
      }
    }
    return step;
  }

  // By layer, of its chosen experts; and the landings of all layers.
  struct Given {
    std::vector<std::vector<int32_t>> of_expert;
    std::vector<Landing> landings;
  };

  static Given Expected(const Step& step) {
    Given given;
    std::vector<int> cursor(step.groups.size(), 0);
    for (int layer = 0; layer < kLayers; ++layer) {
      std::vector<int32_t>& places =
          given.of_expert.emplace_back(static_cast<size_t>(step.num_experts), -1);
      for (const int32_t expert :
           std::set<int32_t>(step.choices[layer].begin(), step.choices[layer].end())) {
        const int number = layer * step.num_experts + expert;
        const ExpertEntry& entry = step.entries[number];
        if (entry.form == EntryForm::kSlot || entry.landing == 0) continue;
        const LandingGroup& group = step.groups[entry.landing - 1];
        int& next = cursor[entry.landing - 1];
        if (next >= (layer < step.first_layer ? group.num_early : group.num_offers)) continue;
        places[expert] = group.first_offer + next++;
        given.landings.push_back({.expert = number, .slot = step.offers[places[expert]].slot});
      }
    }
    return given;
  }

  Given ByKernel(const Step& step) {
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
    const DeviceArray<Landing> landings(offers.size());
    Given given;
    for (int layer = 0; layer < kLayers; ++layer) {
      const DeviceArray<int32_t> choices(step.choices[layer]);
      const DeviceArray<int32_t> of_expert(std::vector<int32_t>(step.num_experts, -1));
      EXPECT_TRUE(AssignLandings({.rows = step.rows,
                                  .routing = {.num_experts = step.num_experts,
                                              .num_chosen = step.num_chosen,
                                              .experts = choices.data()},
                                  .experts = device_table.data() + layer * step.num_experts,
                                  .layer = layer,
                                  .head = head.data(),
                                  .groups = device_groups.data(),
                                  .offers = device_offers.data(),
                                  .of_expert = of_expert.data(),
                                  .count = count.data(),
                                  .landings = landings.data()},
                                 stream_)
                      .ok());
      given.of_expert.push_back(of_expert.Read());
    }
    const std::vector<Landing> all = landings.Read();
    given.landings.assign(all.begin(), all.begin() + count.Read()[0].count);
    return given;
  }
};

TEST_F(AssignLandingsTest, GivesOffersToMarkedMissesInOrderWhileThereAreAny) {
  for (int i = 0; i < 200; ++i) {
    const int rows = i % 3 == 0 ? 1 : 1 + static_cast<int>(random_() % 16);
    const int num_experts = i % 5 == 0 ? 1024 : 8 + static_cast<int>(random_() % 250);
    const int num_chosen = 1 + static_cast<int>(random_() % 8);
    const Step step = RandomStep(rows, num_experts, num_chosen);
    const Given expected = Expected(step);
    const Given given = ByKernel(step);
    ASSERT_EQ(given.of_expert, expected.of_expert) << "step " << i;
    ASSERT_EQ(given.landings, expected.landings) << "step " << i;
  }
}

}  // namespace
}  // namespace strata
