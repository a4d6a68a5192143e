// Compares this interpreter with Python's Jinja on templates written by hand.

#include "strata/generate/chat/jinja/testing/python_jinja.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace strata::jinja {
namespace {

// "\n" and its like in a line of the table.
std::string Unescaped(absl::string_view line) {
  std::string text;
  for (size_t i = 0; i < line.size(); ++i) {
    const char next = i + 1 < line.size() ? line[i + 1] : '\0';
    const size_t known =
        line[i] == '\\' ? absl::string_view("n\\tr").find(next) : absl::string_view::npos;
    if (known == absl::string_view::npos) {
      text.push_back(line[i]);
    } else {
      text.push_back("\n\\\t\r"[known]);
      ++i;
    }
  }
  return text;
}

TEST(PythonJinjaTest, WritesSmallTemplatesAsPythonDoes) {
  const auto context = nlohmann::ordered_json::parse(ReadTestFile("context.json"));
  std::vector<RenderCase> cases;
  for (const absl::string_view line :
       absl::StrSplit(ReadTestFile("small_templates.txt"), '\n', absl::SkipEmpty())) {
    if (absl::StartsWith(line, "# ")) continue;
    cases.push_back({absl::StrCat("template ", cases.size()), Unescaped(line), context});
  }
  EXPECT_GE(cases.size(), 250u);
  const int num_errors = ExpectSame(cases);
  EXPECT_GE(num_errors, 100);
  EXPECT_LE(num_errors, 160);
}

TEST(PythonJinjaTest, WritesConversationsAsChatTemplatesSay) {
  const auto conversations = nlohmann::ordered_json::parse(ReadTestFile("conversations.json"));
  std::vector<RenderCase> cases;
  for (const NamedTemplate& one : ReadChatTemplates()) {
    for (size_t i = 0; i < conversations.size(); ++i) {
      nlohmann::ordered_json context = conversations[i];
      context["bos_token"] = "<s>";
      context["eos_token"] = "</s>";
      cases.push_back({absl::StrCat(one.name, ", conversation ", i), one.source, context});
    }
  }
  // A fifth of them are refused by their templates: roles that do not alternate, lists of parts.
  EXPECT_LE(ExpectSame(cases), static_cast<int>(cases.size() / 5));
}

}  // namespace
}  // namespace strata::jinja
