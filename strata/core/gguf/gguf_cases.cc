#include "strata/core/gguf/gguf_cases.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "strata/core/cli/runfiles.h"

namespace strata {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// One case has a link to nothing, which Bazel does not keep: it is made anew in a folder of the
// test.
std::string WithLinkToNothing(const std::string& first_shard) {
  const fs::path copy = fs::path(testing::TempDir()) / "shard_link_to_nothing";
  fs::remove_all(copy);
  fs::create_directories(copy);
  fs::copy(first_shard, copy / "m-00001-of-00002.gguf");
  fs::create_symlink("blobs/gone", copy / "m-00002-of-00002.gguf");
  return copy / "m-00001-of-00002.gguf";
}

}  // namespace

std::string GgufCasePath(absl::string_view file) {
  return absl::StrCat(Runfile("testdata/cases").value(), "/", file);
}

std::vector<GgufCase> AllGgufCases() {
  const json all = json::parse(std::ifstream(GgufCasePath("cases.json")));
  std::vector<GgufCase> cases;
  for (const json& facts : all["cases"]) {
    std::string path = GgufCasePath(facts["entry"].get<std::string>());
    if (facts["name"] == "shard_link_to_nothing") path = WithLinkToNothing(path);
    cases.push_back({.facts = facts, .path = path});
  }
  CHECK_EQ(cases.size(), all["count"].get<size_t>());
  return cases;
}

bool IsCaseKind(absl::string_view kind, const json& expected) {
  const auto is_kind = [&](const json& one) { return one == std::string(kind); };
  if (!expected.is_array()) return is_kind(expected);
  return std::any_of(expected.begin(), expected.end(), is_kind);
}

}  // namespace strata
