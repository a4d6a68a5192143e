#include "strata/tools/profile_screen.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/profile/expert_profile.h"
#include "strata/cache/profile/profile_figures.h"
#include "strata/core/cli/byte_size.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/cli/text_table.h"

namespace strata {
namespace {

constexpr int kPercents[] = {5, 10, 25, 50, 75, 100};
constexpr int kNumHottest = 10;
constexpr size_t kNumSources = 20;  // Shown to people.

int ExpertsOf(const ExpertProfile& profile, int percent) {
  return static_cast<int>(int64_t{profile.geometry().size()} * percent / 100);
}

double ShareOf(const ExpertProfile& profile, uint64_t count) {
  if (profile.num_entries() == 0) return 0;
  return static_cast<double>(count) / static_cast<double>(profile.num_entries());
}

// Experts of each layer that were never chosen.
std::vector<int> Unused(const ExpertProfile& profile) {
  std::vector<int> unused;
  for (auto begin = profile.counts().begin(); begin != profile.counts().end();
       begin += profile.geometry().num_experts()) {
    unused.push_back(
        static_cast<int>(std::count(begin, begin + profile.geometry().num_experts(), uint64_t{0})));
  }
  return unused;
}

// Of those that were chosen at all.
std::vector<int> Hottest(const ExpertProfile& profile) {
  std::vector<int> numbers = profile.Rank();
  const auto unused = std::find_if(numbers.begin(), numbers.end(),
                                   [&](int number) { return profile.counts()[number] == 0; });
  numbers.erase(unused, numbers.end());
  numbers.resize(std::min<size_t>(numbers.size(), kNumHottest));
  return numbers;
}

std::string Percent(double share) { return absl::StrFormat("%.1f %%", 100 * share); }

std::string Facts(const ExpertProfile& profile) {
  const ExpertGeometry& geometry = profile.geometry();
  const double bits = TotalEntropy(profile);
  TextTable table("ll");
  table.AddRow({"model", geometry.Describe()});
  table.AddRow({"", absl::StrCat(geometry.size(), " experts of ",
                                 FormatByteSize(geometry.total_blob_bytes()), " in all")});
  table.AddRow({"", absl::StrCat("routers ", profile.identity().routers.ToHex(), ", experts ",
                                 profile.identity().experts.ToHex())});
  table.AddRow({"counted", absl::StrCat(profile.num_tokens(), " tokens, ", profile.num_entries(),
                                        " routed entries")});
  table.AddRow({"entropy", absl::StrFormat("%.2f of %.2f bits: as hard to guess as %.0f experts "
                                           "used alike",
                                           bits, std::log2(geometry.size()), std::exp2(bits))});
  size_t shown = 0;
  for (const std::string& source : profile.sources()) {
    if (shown == kNumSources) {
      table.AddRow({"", absl::StrCat("and ", profile.sources().size() - shown, " more")});
      break;
    }
    table.AddRow({shown++ == 0 ? "sources" : "", source});
  }
  return table.ToString();
}

std::string CoverageTable(const ExpertProfile& profile) {
  const CoverageCurve curve(profile);
  TextTable table("rrrr");
  table.AddRow({"hottest", "experts", "bytes", "serve"});
  for (const int percent : kPercents) {
    const int experts = ExpertsOf(profile, percent);
    table.AddRow({absl::StrCat(percent, " %"), absl::StrCat(experts),
                  FormatByteSize(curve.points()[experts].blob_bytes),
                  Percent(curve.Share(experts))});
  }
  return table.ToString();
}

std::string LayerTable(const ExpertProfile& profile) {
  const std::vector<double> entropies = LayerEntropies(profile);
  const std::vector<int> unused = Unused(profile);
  const double most = std::log2(profile.geometry().num_experts());
  TextTable table("rrrr");
  table.AddRow({"layer", "entropy", "of", "unused"});
  for (size_t layer = 0; layer < entropies.size(); ++layer) {
    table.AddRow({absl::StrCat(profile.geometry().layers()[layer].block),
                  absl::StrFormat("%.2f", entropies[layer]), absl::StrFormat("%.2f bits", most),
                  absl::StrCat(unused[layer])});
  }
  return table.ToString();
}

std::string HottestTable(const ExpertProfile& profile) {
  TextTable table("rrrr");
  table.AddRow({"layer", "expert", "count", "share"});
  for (const int number : Hottest(profile)) {
    const ExpertId id = profile.geometry().IdOf(number);
    const uint64_t count = profile.counts()[number];
    table.AddRow({absl::StrCat(id.layer), absl::StrCat(id.index), absl::StrCat(count),
                  Percent(ShareOf(profile, count))});
  }
  return table.ToString();
}

Json CoverageJson(const ExpertProfile& profile) {
  const CoverageCurve curve(profile);
  Json coverage = Json::array();
  for (const int percent : kPercents) {
    const int experts = ExpertsOf(profile, percent);
    coverage.push_back({{"percent", percent},
                        {"experts", experts},
                        {"bytes", curve.points()[experts].blob_bytes},
                        {"share", curve.Share(experts)}});
  }
  return coverage;
}

Json LayersJson(const ExpertProfile& profile) {
  const std::vector<double> entropies = LayerEntropies(profile);
  const std::vector<int> unused = Unused(profile);
  Json layers = Json::array();
  for (size_t i = 0; i < entropies.size(); ++i) {
    const ExpertGeometry::Layer& layer = profile.geometry().layers()[i];
    layers.push_back({{"block", layer.block},
                      {"blob_bytes", layer.blob_bytes},
                      {"expert_bytes", layer.expert_bytes},
                      {"entropy_bits", entropies[i]},
                      {"unused", unused[i]}});
  }
  return layers;
}

Json HottestJson(const ExpertProfile& profile) {
  Json hottest = Json::array();
  for (const int number : Hottest(profile)) {
    const ExpertId id = profile.geometry().IdOf(number);
    const uint64_t count = profile.counts()[number];
    hottest.push_back({{"block", id.layer},
                       {"expert", id.index},
                       {"count", count},
                       {"share", ShareOf(profile, count)}});
  }
  return hottest;
}

}  // namespace

std::string ProfileScreen(const ExpertProfile& profile) {
  return absl::StrCat(Facts(profile), "\n", CoverageTable(profile), "\n", LayerTable(profile), "\n",
                      HottestTable(profile));
}

Json ProfileJson(const ExpertProfile& profile) {
  const ExpertGeometry& geometry = profile.geometry();
  const double bits = TotalEntropy(profile);
  return {{"tokens", profile.num_tokens()},
          {"routed", profile.num_entries()},
          {"sources", profile.sources()},
          {"model",
           {{"routers", profile.identity().routers.ToHex()},
            {"experts_layout", profile.identity().experts.ToHex()},
            {"num_layers", geometry.layers().size()},
            {"num_experts", geometry.num_experts()},
            {"num_used", geometry.num_used()},
            {"blob_bytes", geometry.total_blob_bytes()}}},
          {"coverage", CoverageJson(profile)},
          {"entropy",
           {{"bits", bits}, {"max_bits", std::log2(geometry.size())}, {"alike", std::exp2(bits)}}},
          {"layers", LayersJson(profile)},
          {"hottest", HottestJson(profile)}};
}

}  // namespace strata
