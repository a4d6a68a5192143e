// Random templates: what they write is what Python's Jinja writes, and content stays content.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "strata/core/test_seed.h"
#include "strata/generate/chat/jinja/characters.h"
#include "strata/generate/chat/jinja/testing/python_jinja.h"
#include "strata/generate/chat/jinja/testing/template_generator.h"

namespace strata::jinja {
namespace {

// Characters that no template writes by itself, that have no case and that nothing escapes.
bool IsFromContent(char32_t code_point) { return code_point >= 0xAC00 && code_point <= 0xD7A3; }

std::string RandomContent(TemplateGenerator& generator) {
  const std::vector<std::string> parts = {"한", "글", "각", " ", "\n", "힣", "t", "l"};
  std::string content;
  for (size_t i = generator.Below(8); i > 0; --i) content += parts[generator.Below(parts.size())];
  return content;
}

nlohmann::ordered_json RandomContext(TemplateGenerator& generator) {
  nlohmann::ordered_json context = {
      {"a", generator.Below(5)}, {"b", 7}, {"l", {3, 1, 2}}, {"none_here", nullptr}};
  for (const char* name : {"s", "u"}) context[name] = RandomContent(generator);
  context["ls"] = {RandomContent(generator), RandomContent(generator)};
  context["d"] = {{"x", RandomContent(generator)}, {"y", RandomContent(generator)}};
  context["messages"] = nlohmann::ordered_json::array();
  for (int i = 0; i < 3; ++i) {
    context["messages"].push_back({{"role", "user"}, {"content", RandomContent(generator)}});
  }
  return context;
}

// The first character of content that is outside of a mark; empty if there is none.
std::string FirstForged(const std::vector<MarkedText::Piece>& pieces) {
  for (const MarkedText::Piece& piece : pieces) {
    if (piece.is_content) continue;
    for (const Character& character : CharactersOf(piece.text)) {
      if (IsFromContent(character.code_point)) return piece.text;
    }
  }
  return "";
}

TEST(RandomTemplateTest, WritesWhatPythonWritesAndKeepsContentMarked) {
  TemplateGenerator generator(TestSeed());
  std::vector<RenderCase> cases;
  const int64_t num_cases = TestSteps(1000);
  for (int64_t i = 0; i < num_cases; ++i) {
    const std::string source = generator.Template();
    cases.push_back({absl::StrCat("random template ", i), source, RandomContext(generator)});
  }
  const int num_errors = ExpectSame(cases);
  EXPECT_LT(num_errors, num_cases * 9 / 10);
  int num_with_content = 0;
  for (const RenderCase& one : cases) {
    const Outcome outcome = Render(one);
    EXPECT_EQ(FirstForged(outcome.pieces), "") << one.source;
    for (const MarkedText::Piece& piece : outcome.pieces) num_with_content += piece.is_content;
  }
  EXPECT_GT(num_with_content, num_cases / 10);
}

}  // namespace
}  // namespace strata::jinja
