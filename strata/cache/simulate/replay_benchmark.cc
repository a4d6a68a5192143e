// How many references a second the replays take on one core: steps of 48 layers of 128 experts, 8
// used, whose likely experts drift; slots for a quarter of them. The processor's time is counted.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/experts/routed_step.h"
#include "strata/cache/policy/expert_policy.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/simulate/cache_replay.h"
#include "strata/cache/simulate/lru_curve.h"
#include "strata/cache/simulate/optimum.h"
#include "strata/cache/simulate/policies.h"
#include "strata/cache/simulate/routing_log.h"
#include "strata/core/cpu_name.h"

namespace strata {
namespace {

constexpr int kSteps = 4000;
constexpr int kRepetitions = 5;

RoutingLog MakeLog(const ExpertGeometry& geometry) {
  std::mt19937 random(1);
  RoutingLog log(geometry);
  for (int number = 0; number < kSteps; ++number) {
    RoutedStep step = {.number = number, .num_tokens = 1, .num_accepted = 1};
    for (size_t layer = 0; layer < geometry.layers().size(); ++layer) {
      std::vector<uint16_t> chosen;
      while (static_cast<int>(chosen.size()) < geometry.num_used()) {
        const auto draw = std::min({random() % 128, random() % 128, random() % 128});
        const auto index = static_cast<uint16_t>((draw + layer * 7 + number / 500 * 31) % 128);
        if (std::count(chosen.begin(), chosen.end(), index) == 0) chosen.push_back(index);
      }
      step.experts.insert(step.experts.end(), chosen.begin(), chosen.end());
    }
    log.Add(step);
  }
  return log;
}

void Measure(const std::string& name, const RoutingLog& log, const std::function<void()>& replay) {
  std::vector<double> rates;
  for (int i = 0; i < kRepetitions; ++i) {
    const std::clock_t start = std::clock();
    replay();
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    rates.push_back(static_cast<double>(log.num_uses()) / seconds);
  }
  std::sort(rates.begin(), rates.end());
  std::printf("%-18s %6.1f million references a second (%.1f to %.1f), %.1f us a step\n",
              name.c_str(), rates[kRepetitions / 2] / 1e6, rates.front() / 1e6, rates.back() / 1e6,
              1e6 * static_cast<double>(log.num_uses()) / rates[kRepetitions / 2] / kSteps);
}

void Run() {
  const std::vector<ExpertGeometry::Layer> layers = [] {
    std::vector<ExpertGeometry::Layer> list;
    for (int i = 0; i < 48; ++i) list.push_back({.block = i, .blob_bytes = 1, .expert_bytes = 1});
    return list;
  }();
  const ExpertGeometry geometry(layers, 128, 8);
  const RoutingLog log = MakeLog(geometry);
  const SlotPlan plan(geometry, SlotBudget::Percent(25), {});
  std::printf("%s; one thread, %lld references, median of %d\n", CpuName().c_str(),
              static_cast<long long>(log.num_uses()), kRepetitions);
  Measure("lru, all sizes", log, [&] { LruCurve(log, {}, true); });
  Measure("belady", log, [&] { Optimum(log, SlotsOfClass(plan), plan.experts()); });
  for (const absl::string_view name : PolicyNames()) {
    Measure(std::string(name), log, [&] {
      const std::unique_ptr<ExpertPolicy> policy =
          MakePolicy(name, geometry, {}, {.rates = {.copy_bytes_per_ns = 1, .miss_ns_per_byte = 1}})
              .value();
      const bool is_rounds = name == "rounds";
      CacheReplay replay(geometry,
                         {.mode = is_rounds ? AdmissionMode::kCopies : AdmissionMode::kEveryMiss},
                         SlotsOfClass(plan), plan.experts(), *policy);
      replay.Run(log);
    });
  }
  for (const absl::string_view name : {"adaptive", "learned"}) {
    Measure(absl::StrCat(name, ", landing"), log, [&] {
      const std::unique_ptr<ExpertPolicy> policy = MakePolicy(name, geometry, {}, {}).value();
      CacheReplay replay(geometry, {.mode = AdmissionMode::kLanding}, SlotsOfClass(plan),
                         plan.experts(), *policy);
      replay.Run(log);
    });
  }
}

}  // namespace
}  // namespace strata

int main() { strata::Run(); }
