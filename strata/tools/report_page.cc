#include "strata/tools/report_page.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/simulate/comparison.h"
#include "strata/core/cli/byte_size.h"
#include "strata/core/cli/json_output.h"
#include "strata/tools/simulate_command.h"

namespace strata {
namespace {

// report_page.html as a string: made by the build.
constexpr char kTemplate[] =
#include "strata/tools/report_page_html.inc"
    ;

// Below this gain a larger cache is not worth buying.
constexpr double kWorthwhile = 1.05;

// Of the policies that can be chosen; null when there is none.
const PolicyResult* BestOf(const SizeResult& size) {
  const PolicyResult* best = nullptr;
  for (const PolicyResult& result : size.policies) {
    if (result.policy == kBelady) continue;
    if (best == nullptr || result.speed.tokens_per_s > best->speed.tokens_per_s) best = &result;
  }
  return best;
}

std::string SizeText(const Simulation& simulation, size_t i) {
  return absl::StrCat(simulation.size_names[i], " (", simulation.sizes[i].num_slots, " slots, ",
                      FormatByteSize(simulation.sizes[i].slot_bytes), ")");
}

// The next larger size that was replayed; the size itself when none is.
size_t NextLarger(const Simulation& simulation, size_t chosen) {
  size_t next = chosen;
  for (size_t i = 0; i < simulation.sizes.size(); ++i) {
    if (simulation.sizes[i].num_slots <= simulation.sizes[chosen].num_slots) continue;
    if (next == chosen || simulation.sizes[i].num_slots < simulation.sizes[next].num_slots)
      next = i;
  }
  return next;
}

std::vector<std::vector<double>> Coverage(const std::vector<uint64_t>& counts) {
  std::vector<uint64_t> sorted = counts;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  const double total = std::accumulate(sorted.begin(), sorted.end(), 0.0);
  const size_t step = std::max<size_t>(1, sorted.size() / 128);
  std::vector<std::vector<double>> points = {{0, 0}};
  double sum = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    sum += static_cast<double>(sorted[i]);
    if ((i + 1) % step != 0 && i + 1 != sorted.size()) continue;
    points.push_back({static_cast<double>(i + 1) / static_cast<double>(sorted.size()),
                      total == 0 ? 0 : sum / total});
  }
  return points;
}

std::string EscapeHtml(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
}

}  // namespace

std::string Advice(const Simulation& simulation, size_t chosen) {
  const PolicyResult* const best = BestOf(simulation.sizes[chosen]);
  if (best == nullptr) return "Name at least one policy besides belady to get advice.";
  std::string text = absl::StrFormat(
      "With a cache of %s, %.0f of 100 expert reads are served from GPU memory under the policy "
      "\"%s\".",
      SizeText(simulation, chosen), 100 * best->counts.hit_rate(), best->policy);
  const size_t next = NextLarger(simulation, chosen);
  if (next == chosen) return absl::StrCat(text, " No larger size was tried.");
  const double gain =
      BestOf(simulation.sizes[next])->speed.tokens_per_s / std::max(1.0, best->speed.tokens_per_s);
  const int64_t more = simulation.sizes[next].slot_bytes - simulation.sizes[chosen].slot_bytes;
  if (gain >= kWorthwhile) {
    return absl::StrFormat(
        "%s If the card has another %s to spare, go to %s: expert reads then take %.0f %% less "
        "time. "
        "If not, stay, and keep \"%s\".",
        text, FormatByteSize(more), simulation.size_names[next], 100 * (1 - 1 / gain),
        best->policy);
  }
  return absl::StrFormat(
      "%s Stay at this size: another %s would make expert reads only %.0f %% faster.", text,
      FormatByteSize(more), 100 * (gain - 1));
}

std::string ReportPage(const Simulation& simulation, size_t chosen,
                       const std::vector<uint64_t>& counts) {
  const ExpertGeometry& geometry = simulation.log.geometry();
  CHECK_EQ(counts.size(), static_cast<size_t>(geometry.size()));
  Json data = SimulationJson(simulation);
  data["chosen"] = chosen;
  const PolicyResult* const best = BestOf(simulation.sizes[chosen]);
  data["best"] = best == nullptr ? "" : best->policy;
  data["coverage"] = Coverage(counts);
  for (size_t layer = 0; layer < geometry.layers().size(); ++layer) {
    const auto begin = counts.begin() + static_cast<std::ptrdiff_t>(layer) * geometry.num_experts();
    data["blocks"].push_back(geometry.layers()[layer].block);
    data["heat"].push_back(std::vector<uint64_t>(begin, begin + geometry.num_experts()));
  }
  // In a script element only "<" could end it; as an escape it is the same string.
  const std::string json =
      absl::StrReplaceAll(data.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace),
                          {{"<", "\\u003c"}});
  return absl::StrReplaceAll(
      kTemplate, {{"@TITLE@", EscapeHtml(absl::StrCat("Expert cache for ", geometry.Describe()))},
                  {"@ADVICE@", EscapeHtml(Advice(simulation, chosen))},
                  {"@DATA@", json}});
}

}  // namespace strata
