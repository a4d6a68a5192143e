#include "strata/tools/stage_experiments/report.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/cli/text_table.h"
#include "strata/tools/stage_experiments/measurement.h"

namespace strata::stagebench {
namespace {

// Three digits that matter, without exponents.
std::string Digits(double value) {
  const double size = value < 0 ? -value : value;
  const int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
  return absl::StrFormat("%.*f", decimals, value);
}

std::string Text(const Distribution& value) {
  return absl::StrCat(Digits(value.median), " (", Digits(value.low), " to ", Digits(value.high),
                      ")");
}

// One experiment's rows; the arm with the most figures names the columns.
std::string TableText(absl::Span<const Measurement> arms) {
  const Measurement& fullest =
      *std::max_element(arms.begin(), arms.end(), [](const Measurement& a, const Measurement& b) {
        return std::pair(a.figures.size(), a.notes.size()) <
               std::pair(b.figures.size(), b.notes.size());
      });
  std::vector<std::string> header = {""};
  for (const Measurement::Figure& figure : fullest.figures) header.push_back(figure.name);
  for (const auto& [name, value] : fullest.notes) header.push_back(name);
  header.push_back("");
  TextTable table("l" + std::string(header.size() - 2, 'r') + "l");
  table.AddRow(header);
  for (const Measurement& arm : arms) {
    std::vector<std::string> row = {arm.arm};
    for (const Measurement::Figure& figure : arm.figures) row.push_back(Text(figure.value));
    row.resize(1 + fullest.figures.size());
    for (const auto& [name, value] : fullest.notes) {
      const auto found =
          std::find_if(arm.notes.begin(), arm.notes.end(),
                       [&name = name](const auto& note) { return note.first == name; });
      row.push_back(found == arm.notes.end() ? "" : Digits(found->second));
    }
    row.push_back(arm.remark);
    table.AddRow(row);
  }
  return table.ToString(2);
}

}  // namespace

std::string ReportText(absl::Span<const Measurement> measurements) {
  std::string text;
  while (!measurements.empty()) {
    const std::string& experiment = measurements[0].experiment;
    const auto end =
        std::find_if(measurements.begin(), measurements.end(),
                     [&](const Measurement& other) { return other.experiment != experiment; });
    const size_t count = end - measurements.begin();
    absl::StrAppend(&text, text.empty() ? "" : "\n", experiment, "\n",
                    TableText(measurements.subspan(0, count)));
    measurements.remove_prefix(count);
  }
  return text;
}

Json ReportJson(absl::Span<const Measurement> measurements) {
  Json json = Json::array();
  for (const Measurement& measurement : measurements) {
    Json figures = Json::object();
    for (const auto& [name, value] : measurement.figures) {
      figures[name] = {{"median", value.median},
                       {"low", value.low},
                       {"high", value.high},
                       {"samples", value.num_samples}};
    }
    Json notes = Json::object();
    for (const auto& [name, value] : measurement.notes) notes[name] = value;
    json.push_back({{"experiment", measurement.experiment},
                    {"arm", measurement.arm},
                    {"figures", std::move(figures)},
                    {"notes", std::move(notes)},
                    {"remark", measurement.remark}});
  }
  return json;
}

}  // namespace strata::stagebench
