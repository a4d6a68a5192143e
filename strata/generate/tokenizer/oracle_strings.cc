#include "strata/generate/tokenizer/oracle_strings.h"

#include <cstddef>
#include <cstdint>
#include <fstream>

#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "nlohmann/json.hpp"
#include "strata/core/cli/runfiles.h"
#include "strata/core/utf8.h"

namespace strata {
namespace {

std::string PathOf(absl::string_view file) {
  absl::StatusOr<std::string> path = Runfile(absl::StrCat("testdata/oracles/tokenizer/", file));
  CHECK(path.ok()) << path.status();
  return *path;
}

// The pseudo-random text that the file describes under "rules".
std::string Lcg20000(const nlohmann::json& words) {
  uint64_t state = 12345;
  const auto next = [&state] {
    state = (state * 1103515245 + 12345) % (uint64_t{1} << 31);
    return state / 65536;
  };
  std::string text;
  size_t num_code_points = 0;
  constexpr size_t kWanted = 20000;
  const auto append = [&](absl::string_view word) {
    for (; !word.empty() && num_code_points < kWanted; ++num_code_points) {
      const size_t num_bytes = FirstUtf8Character(word).num_bytes;
      text.append(word.data(), num_bytes);
      word.remove_prefix(num_bytes);
    }
  };
  while (num_code_points < kWanted) {
    append(words[next() % 16].get_ref<const std::string&>());
    if (next() % 4 != 0) append(" ");
  }
  return text;
}

std::string BuildText(const std::string& rule, const nlohmann::json& rules) {
  if (rule == "lcg20000") return Lcg20000(rules["lcg20000"]["words"]);
  if (rule == "the letter a, 20000 times") return std::string(20000, 'a');
  if (rule == "20000 spaces") return std::string(20000, ' ');
  CHECK_EQ(rule, "the two letters ab 5000 times, then one exclamation mark");
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "ab";
  return text + "!";
}

OracleString ReadCase(const nlohmann::json& entry, const nlohmann::json& rules) {
  OracleString oracle;
  if (entry.contains("text")) {
    oracle.name = oracle.text = entry["text"];
  } else if (entry.contains("hex")) {
    oracle.name = entry["hex"];
    oracle.text = absl::HexStringToBytes(oracle.name);
  } else {
    oracle.name = entry["rule"];
    oracle.text = BuildText(oracle.name, rules);
    CHECK_EQ(oracle.text.size(), entry["bytes"].get<size_t>()) << oracle.name;
  }
  oracle.is_taken_differently = entry.contains("note");
  if (!entry["ids"].is_null()) oracle.ids = entry["ids"].get<std::vector<TokenId>>();
  oracle.ids_no_special = entry.value("ids_no_special", oracle.ids);
  oracle.decoded = entry.contains("decodes_to_hex")
                       ? absl::HexStringToBytes(entry["decodes_to_hex"].get<std::string>())
                       : oracle.text;
  return oracle;
}

}  // namespace

std::vector<OracleString> OracleStrings() {
  std::ifstream in(PathOf("strings.json"));
  const nlohmann::json file = nlohmann::json::parse(in);
  std::vector<OracleString> strings;
  for (const nlohmann::json& entry : file["cases"]) {
    strings.push_back(ReadCase(entry, file["rules"]));
  }
  return strings;
}

std::string OracleVocabularyPath() { return PathOf("vocab.gguf"); }

}  // namespace strata
