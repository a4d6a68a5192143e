#include "strata/generate/generation_report.h"

#include <cmath>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/cli/text_table.h"
#include "strata/generate/engine/engine.h"
#include "strata/generate/engine/generator.h"
#include "strata/generate/kernels/isa.h"

namespace strata {
namespace {

double Rounded(double value) { return std::round(value * 100.0) / 100.0; }

double Rate(int64_t count, Generation::Duration time) {
  return time.count() > 0 ? Rounded(static_cast<double>(count) / time.count()) : 0.0;
}

std::string CellOf(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

Json StatsJson(const Generation& generation, const Engine& engine, const Engine::Counters& before) {
  const int64_t num_new = static_cast<int64_t>(generation.ids.size());
  const int64_t routed = engine.counters().routed - before.routed;
  const int64_t expert_bytes = engine.counters().expert_bytes - before.expert_bytes;
  return {{"prompt_tokens", generation.num_prompt},
          {"prompt_tokens_reused", generation.num_prompt - generation.num_prompt_fed},
          {"new_tokens", num_new},
          {"ttft_ms", Rounded(generation.first_token_time.count() * 1000.0)},
          {"prompt_tps", Rate(generation.num_prompt_fed, generation.prompt_time)},
          // The first token comes with the prompt's logits.
          {"decode_tps", num_new > 1 ? Rate(num_new - 1, generation.decode_time) : 0.0},
          {"routed", routed},
          {"hits", 0},
          {"misses", {{"read", 0}, {"cpu", routed}, {"stage", 0}}},
          {"bytes",
           {{"slot", 0}, {"registered", 0}, {"arena", 0}, {"stage", 0}, {"file", expert_bytes}}},
          {"kv_bytes", engine.kv_bytes()},
          {"device", "cpu"},
          {"isa", std::string(NameOf(CurrentIsa()))},
          {"threads", engine.num_threads()}};
}

std::string StatsTable(const Json& stats) {
  TextTable table("lr");
  for (const auto& [name, value] : stats.items()) {
    if (!value.is_object()) {
      table.AddRow({name, CellOf(value)});
      continue;
    }
    for (const auto& [part, number] : value.items()) {
      table.AddRow({absl::StrCat(name, ".", part), CellOf(number)});
    }
  }
  return table.ToString();
}

}  // namespace strata
