// The hostile and sound files of testdata/cases, and what cases.json says of each:
//   name, wrong   which case, and what is wrong in it
//   entry         the path to open
//   expect        "accept": opens, with the facts; "reject": an error of reject_kind; "either"
//   expect_model  the same, of model_reject_kind, for what the file says of its model; null: any
//   facts         what gguf_json.h prints, with sha256 of every tensor's bytes
//   limits        seconds and rss_mib that a program may use
//
// For tests, with //testdata:cases in their data.
#ifndef STRATA_CORE_GGUF_GGUF_CASES_H_
#define STRATA_CORE_GGUF_GGUF_CASES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace strata {

struct GgufCase {
  nlohmann::json facts;  // The case's object in cases.json.
  std::string path;      // Of its entry, ready to be opened.

  std::string name() const { return facts["name"]; }
};

// All of them; fewer than cases.json counts is an end of the test.
std::vector<GgufCase> AllGgufCases();

// The path of one file in the folder.
std::string GgufCasePath(absl::string_view file);

// True when `kind` is `expected`, or one of them where it is a list.
bool IsCaseKind(absl::string_view kind, const nlohmann::json& expected);

}  // namespace strata

#endif  // STRATA_CORE_GGUF_GGUF_CASES_H_
