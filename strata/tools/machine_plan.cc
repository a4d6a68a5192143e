#include "strata/tools/machine_plan.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/profile/cache_forecast.h"
#include "strata/cache/profile/expert_profile.h"
#include "strata/cache/tier/layer_stream.h"
#include "strata/core/cli/byte_size.h"
#include "strata/core/pin_limits.h"
#include "strata/generate/placement/footprint.h"

namespace strata {
namespace {

// Flags may say any size.
int64_t SaturatedSum(int64_t a, int64_t b) {
  return b > std::numeric_limits<int64_t>::max() - a ? std::numeric_limits<int64_t>::max() : a + b;
}

// Of GPU memory, without slots and reserve.
int64_t UsedBytes(const Footprint& footprint) {
  return footprint.dense_bytes + footprint.kv_bytes + footprint.recurrent_bytes +
         footprint.workspace_bytes;
}

int64_t NeededBytes(const Machine& machine, const Footprint& footprint) {
  return SaturatedSum(UsedBytes(footprint), machine.vram_reserve_bytes);
}

// Both buffers, where slots would take all the memory that is left.
int64_t LayerBufferBytes(const Machine& machine, const ExpertGeometry& geometry,
                         int64_t needed_bytes) {
  const int64_t left = std::max<int64_t>(0, machine.vram_bytes - needed_bytes);
  return 2 * LayerStream::BufferBytes(geometry, left, /*spare_bytes=*/0);
}

CacheForecast Forecast(const ExpertProfile* profile, const ExpertGeometry& geometry,
                       absl::Span<const int> residents) {
  return profile == nullptr ? ForecastOf(geometry, residents) : ForecastOf(*profile, residents);
}

// In the order in which they are pinned: what no slot holds first.
std::vector<int> PinOrder(const ExpertGeometry& geometry, absl::Span<const int> ranking,
                          absl::Span<const int> residents) {
  std::vector<bool> has_slot(static_cast<size_t>(geometry.size()), false);
  for (const int number : residents) has_slot[number] = true;
  std::vector<int> order = SlotPlan::CompleteRanking(geometry, ranking);
  std::stable_partition(order.begin(), order.end(), [&](int number) { return !has_slot[number]; });
  return order;
}

std::string Shortage(const Machine& machine, const MachinePlan& plan) {
  const int64_t left = machine.vram_bytes - machine.vram_reserve_bytes;
  if (left < 0) {
    return absl::StrCat("it does not fit: the reserve of ",
                        FormatByteSize(machine.vram_reserve_bytes), " is more than the ",
                        FormatByteSize(machine.vram_bytes), " of GPU memory");
  }
  const int64_t used = UsedBytes(plan.footprint);
  if (used <= left) return "";
  return absl::StrCat("it does not fit: without a single expert it takes ",
                      FormatByteSize(plan.vram_needed_bytes), " of GPU memory, ",
                      FormatByteSize(used - left), " more than there is");
}

void PlaceInHostMemory(const Machine& machine, const ExpertGeometry& geometry,
                       absl::Span<const int> ranking, const SlotPlan& slots,
                       const ExpertProfile* profile, MachinePlan& plan) {
  int64_t max_blob_bytes = 0;
  for (const ExpertGeometry::Layer& layer : geometry.layers()) {
    max_blob_bytes = std::max(max_blob_bytes, layer.blob_bytes);
  }
  const int64_t available = std::max<int64_t>(0, machine.ram_bytes - plan.footprint.snapshot_bytes);
  const int64_t budget =
      ChooseDefaultPinBudget({.available_bytes = available}, /*pins_count_as_locked=*/false).bytes;
  plan.stage_bytes = std::min(budget, machine.num_stages * max_blob_bytes);
  std::vector<int> reachable(slots.experts().begin(), slots.experts().end());
  int64_t bytes_outside = 0;
  for (const int number : PinOrder(geometry, ranking, slots.experts())) {
    const int64_t bytes = geometry.LayerOf(number).expert_bytes;
    if (plan.pinned_bytes() + bytes > budget) break;
    plan.pinned_expert_bytes += bytes;
    ++plan.num_pinned;
    reachable.push_back(number);
  }
  std::vector<bool> is_reachable(static_cast<size_t>(geometry.size()), false);
  for (const int number : reachable) is_reachable[number] = true;
  for (int number = 0; number < geometry.size(); ++number) {
    if (is_reachable[number]) continue;
    ++plan.num_in_file;
    bytes_outside += geometry.LayerOf(number).expert_bytes;
  }
  plan.file_bytes = bytes_outside;
  std::sort(reachable.begin(), reachable.end());
  reachable.erase(std::unique(reachable.begin(), reachable.end()), reachable.end());
  plan.file_read_bytes = Forecast(profile, geometry, reachable).miss_bytes;
}

MachinePlan::Bound BoundOf(double bytes, double gb_per_s) {
  return {.bytes = bytes, .tokens_per_s = bytes > 0 ? gb_per_s * 1e9 / bytes : 0};
}

void BoundSpeed(const Machine& machine, MachinePlan& plan) {
  // A miss crosses the link, and is read from host memory first.
  plan.link = BoundOf(plan.forecast.miss_bytes, machine.link_gb_per_s);
  plan.dram = BoundOf(plan.forecast.miss_bytes, machine.dram_gb_per_s);
  plan.disk = BoundOf(plan.file_read_bytes + static_cast<double>(plan.footprint.table_read_bytes),
                      machine.disk_gb_per_s);
  plan.gpu = BoundOf(static_cast<double>(plan.footprint.dense_read_bytes) +
                         static_cast<double>(plan.footprint.kv_read_bytes) +
                         static_cast<double>(plan.footprint.recurrent_read_bytes) +
                         plan.forecast.hit_bytes,
                     machine.gpu_gb_per_s);
  double least = 0;
  const auto consider = [&](const MachinePlan::Bound& bound, const char* name) {
    if (bound.tokens_per_s == 0 || (least > 0 && bound.tokens_per_s >= least)) return;
    least = bound.tokens_per_s;
    plan.tightest = name;
  };
  consider(plan.link, "link");
  consider(plan.dram, "dram");
  consider(plan.gpu, "gpu");
  consider(plan.disk, "disk");
}

}  // namespace

MachinePlan PlanMachine(const Machine& machine, const Footprint& footprint,
                        const ExpertGeometry& geometry, const ExpertProfile* profile) {
  MachinePlan plan = {.footprint = footprint, .has_profile = profile != nullptr};
  plan.vram_needed_bytes = NeededBytes(machine, footprint);
  if (footprint.streams_layers) {
    plan.footprint.workspace_bytes += LayerBufferBytes(machine, geometry, plan.vram_needed_bytes);
    plan.vram_needed_bytes = NeededBytes(machine, plan.footprint);
  }
  plan.shortage = Shortage(machine, plan);
  plan.num_experts = geometry.size();
  for (int number = 0; number < geometry.size(); ++number) {
    plan.expert_bytes += geometry.LayerOf(number).expert_bytes;
  }
  const std::vector<int> ranking = profile == nullptr ? std::vector<int>() : profile->Rank();
  const int64_t for_slots = std::clamp<int64_t>(machine.vram_bytes - plan.vram_needed_bytes, 0,
                                                geometry.total_blob_bytes());
  const SlotPlan slots(geometry, SlotBudget::Bytes(for_slots), ranking);
  plan.num_slots = slots.num_slots();
  plan.slot_bytes = slots.bytes();
  plan.forecast = Forecast(profile, geometry, slots.experts());
  PlaceInHostMemory(machine, geometry, ranking, slots, profile, plan);
  BoundSpeed(machine, plan);
  return plan;
}

}  // namespace strata
