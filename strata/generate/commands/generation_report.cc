#include "strata/generate/commands/generation_report.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "strata/cache/simulate/cache_gauge.h"
#include "strata/cache/tier/expert_table.h"
#include "strata/cache/tier/tier_counters.h"
#include "strata/core/cli/json_output.h"
#include "strata/generate/engine/engine.h"
#include "strata/generate/engine/generator.h"
#include "strata/generate/engine/start_times.h"
#include "strata/generate/loading/text_model.h"
#include "strata/generate/placement/expert_placement.h"

namespace strata {
namespace {

double Rounded(double value) { return std::round(value * 100.0) / 100.0; }

double Rate(int64_t count, Generation::Duration time) {
  return time.count() > 0 ? Rounded(static_cast<double>(count) / time.count()) : 0.0;
}

double Milliseconds(Generation::Duration time) { return Rounded(time.count() * 1000.0); }

double Milliseconds(double nanoseconds) { return Rounded(nanoseconds / 1e6); }

// Exact: hits and misses together are the routed entries.
void AddRouting(const TierCounters& before, const TierCounters& now, Json& stats) {
  const auto bytes = [&](EntryForm form) { return now.bytes_from(form) - before.bytes_from(form); };
  const auto misses = [&](MissPath path) {
    return now.misses[static_cast<int>(path)] - before.misses[static_cast<int>(path)];
  };
  stats["routed"] = now.routed - before.routed;
  stats["hits"] = now.hits - before.hits;
  stats["misses"] = {{"read", misses(MissPath::kRead)},
                     {"cpu", misses(MissPath::kCpu)},
                     {"stage", misses(MissPath::kStage)}};
  stats["bytes"] = {{"slot", bytes(EntryForm::kSlot)},
                    {"registered", bytes(EntryForm::kRegistered)},
                    {"arena", bytes(EntryForm::kArena)},
                    {"stage", bytes(EntryForm::kStage)},
                    {"file", bytes(EntryForm::kPageable)}};
  stats["swaps"] = now.swaps_visible - before.swaps_visible;
  stats["swap_round_ms"] =
      Milliseconds(static_cast<double>(now.swap_round_ns - before.swap_round_ns));
  stats["adapt"] = {
      {"rounds", now.rounds - before.rounds},
      {"rounds_skipped", now.rounds_skipped - before.rounds_skipped},
      {"decided", now.swaps_decided - before.swaps_decided},
      {"failed", now.swaps_failed - before.swaps_failed},
      {"dropped", now.swaps_dropped - before.swaps_dropped},
      {"bytes", now.swap_bytes - before.swap_bytes},
      {"predicted_saving_ms", Milliseconds(now.predicted_saving_ns - before.predicted_saving_ns)},
      // Of swaps whose horizon is over: what was said of them, and what came of it.
      {"settled_predicted_ms",
       Milliseconds(now.settled_predicted_ns - before.settled_predicted_ns)},
      {"realized_saving_ms", Milliseconds(now.realized_saving_ns - before.realized_saving_ns)},
      {"waits", now.waits_for_swaps - before.waits_for_swaps}};
  // Of landing: slots of all steps, experts that a step stored in them, and those that stayed.
  stats["landing"] = {{"offered", now.offered - before.offered},
                      {"landed", now.landed - before.landed},
                      {"bytes", now.landed_bytes - before.landed_bytes},
                      {"kept", now.landings_shown - before.landings_shown},
                      {"verified", now.landings_verified - before.landings_verified},
                      {"waits", now.landing_waits - before.landing_waits}};
  stats["lent"] = now.lent - before.lent;
  stats["refilled"] = now.refilled - before.refilled;
  stats["refill_ms"] = Milliseconds(static_cast<double>(now.refill_ns - before.refill_ns));
}

void AddPlacement(const ExpertPlacement& experts, Json& stats) {
  const FillReport fill = experts.fill_report();
  stats["slots"] = experts.slots().num_slots();
  stats["slot_bytes"] = experts.slots().bytes();
  stats["filled"] = fill.num_experts;
  stats["verified"] = fill.num_verified;
  stats["fill_gbps"] = Rounded(fill.gb_per_s());
  stats["pinned_bytes"] = experts.pinned_bytes();
  stats["pinned_mib"] = Rounded(static_cast<double>(experts.pinned_bytes()) / (1 << 20));
  stats["pin_ms"] = Rounded(experts.pin_ms());
}

double Percent(double share) { return Rounded(100 * share); }

// How well the slots do, beside what could be done (docs/cache-size.md).
void AddGauge(const CacheGauge::Reading& reading, Json& stats) {
  stats["gauge"] = {{"steps", reading.steps},
                    {"hit_percent", Percent(reading.hit_rate)},
                    {"best_static_percent", Percent(reading.best_static)},
                    {"optimum_percent", Percent(reading.optimum)},
                    {"lru_percent", Percent(reading.lru)},
                    {"lru_with_1gib_more_percent", Percent(reading.lru_with_more)},
                    {"bytes_saved_a_step_by_1gib_more", std::llround(reading.saved_bytes)}};
}

}  // namespace

Json StatsJson(const Generation& generation, const TextModel& model,
               const TextModel::Counters& before) {
  const int64_t num_new = static_cast<int64_t>(generation.ids.size());
  Json stats = {{"prompt_tokens", generation.num_prompt},
                {"prompt_tokens_reused", generation.num_prompt - generation.num_prompt_fed},
                {"new_tokens", num_new},
                {"ttft_ms", Milliseconds(generation.first_token_time)},
                {"prompt_tps", Rate(generation.num_prompt_fed, generation.prompt_time)},
                // The first token comes with the prompt's logits.
                {"decode_tps", num_new > 1 ? Rate(num_new - 1, generation.decode_time) : 0.0}};
  const TextModel::Counters now = model.counters();
  AddRouting(before.tier, now.tier, stats);
  stats["table_rows"] = now.engine.table_rows - before.engine.table_rows;
  if (model.experts() != nullptr) {
    AddPlacement(*model.experts(), stats);
    const std::optional<CacheGauge::Reading> reading = model.experts()->ReadGauge();
    if (reading.has_value()) AddGauge(*reading, stats);
  }
  for (const StartTimes::Part& part : model.start_times().parts()) {
    stats["start"][absl::StrCat(part.name, "_ms")] = Rounded(part.ms);
  }
  stats["kv_bytes"] = model.engine().kv_bytes();
  stats["recurrent_bytes"] = model.engine().recurrent_bytes();
  stats["snapshot_bytes"] = model.engine().snapshot_bytes();
  stats["workspace_bytes"] = model.engine().workspace_bytes();
  const Engine::Hardware hardware = model.engine().hardware();
  stats["device"] = hardware.kind;
  stats["isa"] = hardware.name;
  stats["threads"] = hardware.num_threads;
  return stats;
}

}  // namespace strata
