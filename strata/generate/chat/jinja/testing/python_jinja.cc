#include "strata/generate/chat/jinja/testing/python_jinja.h"

#include <fstream>
#include <iterator>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/civil_time.h"
#include "glog/logging.h"
#include "gtest/gtest.h"
#include "strata/core/cli/run_program.h"
#include "strata/core/cli/runfiles.h"
#include "strata/generate/chat/jinja/template.h"
#include "strata/generate/chat/jinja/value.h"
#include "strata/generate/chat/jinja/value_from_json.h"

namespace strata::jinja {
namespace {

std::string TestFile(const std::string& name) {
  const absl::StatusOr<std::string> path =
      Runfile(absl::StrCat("strata/generate/chat/jinja/testing/", name));
  CHECK(path.ok()) << path.status();
  return *path;
}

}  // namespace

std::vector<Outcome> RenderInPython(const std::vector<RenderCase>& cases) {
  ProgramOptions options;
  for (const RenderCase& one : cases) {
    const nlohmann::ordered_json line = {{"template", one.source}, {"context", one.context}};
    absl::StrAppend(&options.input, line.dump(), "\n");
  }
  const ProgramResult result =
      RunProgram({"/usr/bin/python3", TestFile("jinja_oracle.py")}, options);
  CHECK_EQ(result.exit_code, 0) << result.err;
  std::vector<Outcome> outcomes;
  for (const absl::string_view line : absl::StrSplit(result.out, '\n', absl::SkipEmpty())) {
    const auto json = nlohmann::json::parse(line.begin(), line.end());
    const bool is_error = json.contains("error");
    outcomes.push_back({is_error, json[is_error ? "error" : "out"].get<std::string>(), {}});
  }
  CHECK_EQ(outcomes.size(), cases.size()) << result.err;
  return outcomes;
}

Outcome Render(const RenderCase& render_case) {
  const absl::StatusOr<Template> parsed = Template::Parse(render_case.source);
  if (!parsed.ok()) return {true, parsed.status().ToString(), {}};
  const absl::StatusOr<Value> context = ValueFromJson(render_case.context, true);
  CHECK(context.ok()) << context.status();
  Template::Options options;
  options.now = absl::CivilSecond(2026, 7, 4, 12, 30, 5);
  const absl::StatusOr<std::vector<MarkedText::Piece>> pieces = parsed->Render(*context, options);
  if (!pieces.ok()) return {true, pieces.status().ToString(), {}};
  Outcome outcome;
  outcome.pieces = *pieces;
  for (const MarkedText::Piece& piece : *pieces) outcome.text += piece.text;
  return outcome;
}

int ExpectSame(const std::vector<RenderCase>& cases) {
  const std::vector<Outcome> expected = RenderInPython(cases);
  int num_errors = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    const Outcome ours = Render(cases[i]);
    EXPECT_EQ(ours.is_error, expected[i].is_error)
        << cases[i].name << "\n"
        << cases[i].source << "\nours: " << ours.text << "\nPython's: " << expected[i].text;
    if (ours.is_error || expected[i].is_error) {
      ++num_errors;
    } else {
      EXPECT_EQ(ours.text, expected[i].text) << cases[i].name << "\n" << cases[i].source;
    }
  }
  return num_errors;
}

std::string ReadTestFile(const std::string& name) {
  std::ifstream file(TestFile(name), std::ios::binary);
  CHECK(file.good()) << name;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Each is headed by "=== name: what it is".
std::vector<NamedTemplate> ReadChatTemplates() {
  const std::string text = absl::StrCat("\n", ReadTestFile("chat_templates.txt"));
  std::vector<NamedTemplate> templates;
  for (const absl::string_view part : absl::StrSplit(text, "\n=== ", absl::SkipEmpty())) {
    const std::pair<std::string, std::string> halves =
        absl::StrSplit(part, absl::MaxSplits('\n', 1));
    templates.push_back({halves.first, halves.second});
  }
  CHECK_GE(templates.size(), 60u);
  return templates;
}

}  // namespace strata::jinja
