// Where a model's parts would go on a machine, and what that machine could give: arithmetic over
// the same functions that place experts when a model runs. Sizes are in bytes.
#ifndef STRATA_TOOLS_MACHINE_PLAN_H_
#define STRATA_TOOLS_MACHINE_PLAN_H_

#include <cstdint>
#include <string>

#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/profile/cache_forecast.h"
#include "strata/cache/profile/expert_profile.h"
#include "strata/generate/placement/footprint.h"

namespace strata {

struct Machine {
  int64_t vram_bytes = 0;
  int64_t ram_bytes = 0;
  int64_t vram_reserve_bytes = int64_t{512} << 20;  // For the driver and what else runs there.
  int num_stages = 32;
  // Bandwidths in 10^9 bytes a second, as they are reached and not as they are sold.
  double link_gb_per_s = 25;  // PCIe 4 x16.
  double dram_gb_per_s = 50;  // Two channels of DDR5.
  double gpu_gb_per_s = 700;  // Of GPU memory.
  double disk_gb_per_s = 3;   // Of the file, for what RAM cannot hold.
};

struct MachinePlan {
  Footprint footprint;
  // What is short, in a sentence; empty when the model fits.
  std::string shortage;
  bool fits() const { return shortage.empty(); }

  // GPU memory: the footprint, the reserve, and slots.
  int64_t vram_needed_bytes = 0;  // Without slots.
  int num_slots = 0;
  int64_t slot_bytes = 0;
  int64_t num_experts = 0;  // Of the model,
  int64_t expert_bytes = 0;

  // Host memory: pinned experts (what no slot holds first, then the slots' own, which is where they
  // go when they are evicted) and stages. What does not fit is read from the file when it is used.
  int num_pinned = 0;
  int64_t pinned_expert_bytes = 0;
  int64_t stage_bytes = 0;
  int num_in_file = 0;  // Neither in a slot nor pinned.
  int64_t file_bytes = 0;

  // A token, computed alone.
  bool has_profile = false;
  CacheForecast forecast;
  double file_read_bytes = 0;  // Of the forecast's misses, those from the file.
  // Bytes, and the tokens per second that each part of the machine would allow by itself; 0 where
  // it moves nothing.
  struct Bound {
    double bytes = 0;
    double tokens_per_s = 0;
  };
  Bound link, dram, gpu, disk;
  // "link", "dram", "gpu" or "disk": the one that allows least.
  std::string tightest;

  int64_t vram_used_bytes() const { return vram_needed_bytes + slot_bytes; }
  int64_t pinned_bytes() const { return pinned_expert_bytes + stage_bytes; }
};

// `profile` may be null.
MachinePlan PlanMachine(const Machine& machine, const Footprint& footprint,
                        const ExpertGeometry& geometry, const ExpertProfile* profile);

}  // namespace strata

#endif  // STRATA_TOOLS_MACHINE_PLAN_H_
