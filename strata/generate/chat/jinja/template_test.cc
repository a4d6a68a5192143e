#include "strata/generate/chat/jinja/template.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "strata/generate/chat/jinja/budget.h"
#include "strata/generate/chat/jinja/marked_text.h"
#include "strata/generate/chat/jinja/value.h"
#include "strata/generate/chat/jinja/value_from_json.h"

namespace strata::jinja {
namespace {

using Pieces = std::vector<MarkedText::Piece>;

// With a message `c`, which is content, and a role `r`, which is the program's.
absl::StatusOr<Pieces> RenderWith(absl::string_view source, const Limits& limits = {}) {
  const absl::StatusOr<Template> parsed = Template::Parse(source);
  if (!parsed.ok()) return parsed.status();
  Dict context;
  context.Set("c", Value::String("<|x|>", true));
  context.Set("r", Value::String("user"));
  const auto json = nlohmann::ordered_json::parse(R"({"k": ["v", 1, {"n": null}]})");
  context.Set("j", *ValueFromJson(json, true));
  Template::Options options;
  options.limits = limits;
  return parsed->Render(Value::DictOf(std::move(context), nullptr), options);
}

Pieces PiecesOf(absl::string_view source) {
  const absl::StatusOr<Pieces> pieces = RenderWith(source);
  EXPECT_TRUE(pieces.ok()) << source << ": " << pieces.status();
  return pieces.value_or(Pieces());
}

absl::Status ErrorOf(absl::string_view source, const Limits& limits = {}) {
  const absl::StatusOr<Pieces> pieces = RenderWith(source, limits);
  EXPECT_FALSE(pieces.ok()) << source;
  return pieces.status();
}

TEST(TemplateTest, TellsContentFromTheTemplatesOwnText) {
  EXPECT_EQ(PiecesOf("<|{{ r }}|>{{ c }}<|end|>"),
            (Pieces{{"<|user|>", false}, {"<|x|>", true}, {"<|end|>", false}}));
}

TEST(TemplateTest, KeepsMarksThroughWhateverATemplateDoesWithContent) {
  const Pieces upper = {{"a", false}, {"<|X|>", true}, {"b", false}};
  EXPECT_EQ(PiecesOf("{{ 'a' + c | upper + 'b' }}"), upper);
  EXPECT_EQ(PiecesOf("{{ 'a%sb' % c.upper() }}"), upper);
  EXPECT_EQ(PiecesOf("{{ 'a{}b'.format(c | upper) }}"), upper);
  EXPECT_EQ(PiecesOf("{{ ['a', c | upper, 'b'] | join }}"), upper);
  EXPECT_EQ(PiecesOf("{{ 'a-b' | replace('-', c | upper) }}"), upper);
  EXPECT_EQ(PiecesOf("{% macro m(x) %}a{{ x }}{{ caller() }}{% endmacro %}"
                     "{% call m(c | upper) %}b{% endcall %}"),
            upper);
  EXPECT_EQ(PiecesOf("{% set x %}a{{ c }}b{% endset %}{{ x[:1] ~ x[1:6] | upper ~ x[6:] }}"),
            upper);
  EXPECT_EQ(PiecesOf("{% filter trim %} a{{ c | upper }}b {% endfilter %}"), upper);
  EXPECT_EQ(PiecesOf("{% for x in ('a,' ~ c | upper ~ ',b').split(',') %}{{ x }}{% endfor %}"),
            upper);
  EXPECT_EQ(PiecesOf("{{ c[::-1] }}{{ c * 2 }}"), (Pieces{{">|x|<<|x|><|x|>", true}}));
  EXPECT_EQ(PiecesOf("{{ {'t': c} | tojson }}"),
            (Pieces{{"{\"t\": ", false}, {"\"<|x|>\"", true}, {"}", false}}));
  EXPECT_EQ(PiecesOf("{{ j | tojson }}"), (Pieces{{R"({"k": ["v", 1, {"n": null}]})", true}}));
  EXPECT_EQ(PiecesOf("{{ j }}"), (Pieces{{R"({'k': ['v', 1, {'n': None}]})", true}}));
  EXPECT_EQ(PiecesOf("{{ j.k[1] + 1 }}{{ j.k | length }}"), (Pieces{{"2", true}, {"3", false}}));
}

TEST(TemplateTest, TakesWhatContentPutsTogetherForContent) {
  // A message that is a format could write any mark by the fill of its fields.
  const auto is_content = [](const Pieces& pieces) {
    return pieces.size() == 1 && pieces[0].is_content;
  };
  EXPECT_TRUE(is_content(PiecesOf("{{ (c ~ '{:<>3}').format('') }}")));
  EXPECT_TRUE(is_content(PiecesOf("{{ '{:{}>3}'.format('', c[:1]) }}")));
  EXPECT_TRUE(is_content(PiecesOf("{{ (c ~ '%c%c') % (60, 124) }}")));
  EXPECT_TRUE(is_content(PiecesOf("{{ strftime_now(c) }}")));
  EXPECT_EQ(PiecesOf("{% macro m() %}{{ kwargs | join }}{% endmacro %}{{ m(**{c: 1}) }}"),
            (Pieces{{"<|x|>", true}}));
  EXPECT_EQ(PiecesOf("{{ dict(**{c: 1}) | first }}"), (Pieces{{"<|x|>", true}}));
  EXPECT_EQ(PiecesOf("{{ namespace({c: 1}) }}"),
            (Pieces{{"<Namespace {", false}, {"'<|x|>'", true}, {": 1}>", false}}));
}

TEST(TemplateTest, LetsATemplateWriteAMarkThatContentOnlyNames) {
  EXPECT_EQ(PiecesOf("{% if c == '<|x|>' %}<|x|>{% endif %}"), (Pieces{{"<|x|>", false}}));
}

TEST(TemplateTest, TellsTheTextOfARefusalAlone) {
  const absl::Status error = ErrorOf("\n{{ raise_exception('roles ' ~ r) }}");
  EXPECT_EQ(error.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(error.message(), "roles user");
}

TEST(TemplateTest, NamesTheLineOfAnError) {
  const absl::Status running = ErrorOf("a\nb\n{% if true %}\n{{ nope.x }}{% endif %}");
  EXPECT_EQ(running.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(running.message(), "line 4: 'nope' is undefined");
  const absl::Status parsing = ErrorOf("a\n{% if %}");
  EXPECT_EQ(parsing.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(parsing.message(), "line 2: expected an expression, found the end of the tag");
}

std::string Nested(int depth, absl::string_view open, absl::string_view inside,
                   absl::string_view close) {
  std::string text;
  for (int i = 0; i < depth; ++i) absl::StrAppend(&text, open);
  absl::StrAppend(&text, inside);
  for (int i = 0; i < depth; ++i) absl::StrAppend(&text, close);
  return text;
}

TEST(TemplateTest, RefusesSourcesThatAreNestedTooDeep) {
  for (const std::string& source :
       {absl::StrCat("{{ ", Nested(100000, "(", "1", ")"), " }}"),
        absl::StrCat("{{ ", Nested(100000, "[", "1", "]"), " }}"),
        absl::StrCat("{{ ", Nested(100000, "not ", "1", ""), " }}"),
        absl::StrCat("{{ ", Nested(100000, "-", "1", ""), " }}"),
        absl::StrCat("{{ ", Nested(100000, "", "1", "+1"), " }}"),
        absl::StrCat("{{ ", Nested(100000, "", "c", ".x"), " }}"),
        absl::StrCat("{{ ", Nested(100000, "", "c", "|e"), " }}"),
        absl::StrCat("{{ ", Nested(50000, "1 if 1 else ", "1", ""), " }}"),
        Nested(20000, "{% if 1 %}", "", "{% endif %}"),
        Nested(10000, "{% for x in c %}", "", "{% endfor %}"),
        Nested(10000, "{% macro m() %}", "", "{% endmacro %}")}) {
    EXPECT_TRUE(absl::StrContains(ErrorOf(source).message(), "nested too deep"));
  }
}

// Few steps of much work each.
std::string LooksAtALongText(absl::string_view expression) {
  return absl::StrCat(
      "{% set s = 'x' * 99999 %}{% set d = {s: 1} %}{% for i in range(999) %}{% if ", expression,
      " %}{% endif %}{% endfor %}");
}

TEST(TemplateTest, TakesWidthsOfAllIntegers) {
  EXPECT_EQ(PiecesOf("{{ 'x'.ljust(-9223372036854775807 - 1) }}"
                     "{{ '1'.zfill(-9223372036854775807 - 1) }}"),
            (Pieces{{"x1", false}}));
}

TEST(TemplateTest, RefusesWhatTakesTooMuch) {
  const Limits small = {.max_steps = 200'000, .max_bytes = 1 << 20, .max_output_bytes = 100'000};
  for (const std::string& source : std::vector<std::string>{
           "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
           "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
           "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
           "{{ 'x' * 1000000000 }}",
           "{{ [c] * 1000000000 }}",
           "{{ 'x'.center(1000000000) }}{{ 'x'.zfill(1000000000) }}",
           "{{ 'x'.ljust(9223372036854775807) }}",
           "{{ '\u00E4\t'.expandtabs(9223372036854775807) }}",
           LooksAtALongText("d[s]"),
           LooksAtALongText("s in d"),
           LooksAtALongText("d.get(s)"),
           LooksAtALongText("d == {s: 2 - 1}"),
           LooksAtALongText("s | int"),
           LooksAtALongText("s | float"),
           "{{ '%1000000000d' % 1 }}",
           "{{ '{:1000000000}'.format(1) }}",
           "{{ c | indent(1000000000) }}",
           "{{ [1] | tojson(indent=1000000000) }}",
           "{{ [1] | batch(1000000000, 1) | list }}",
           "{{ [1] | slice(1000000000) | list }}",
           "{% for x in range(99999) %}0123456789{% endfor %}",
           "{% set ns = namespace(x='xxxxxxxx') %}{% for i in range(40) %}"
           "{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
           "{% set ns = namespace(x='xxxxxxxx') %}{% for i in range(40) %}"
           "{% set ns.x = ns.x | replace('x', ns.x) %}{% endfor %}",
           "{% set ns = namespace(x=[]) %}{% for i in range(99999) %}"
           "{% set ns.x = [ns.x, ns.x] %}{% endfor %}",
           "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}"
           "{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x | tojson }}",
           "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}"
           "{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x == [ns.x[0], ns.x[1]] }}",
           "{% set ns = namespace() %}{% set ns.x = [ns] %}{{ ns }}",
           "{% set ns = namespace(x=1) %}{% for i in range(99999) %}"
           "{% set ns.x = namespace(x=ns.x) %}{% endfor %}{{ ns }}"}) {
    EXPECT_EQ(ErrorOf(source, small).code(), absl::StatusCode::kResourceExhausted) << source;
  }
}

TEST(TemplateTest, KeepsNothingOfValuesThatHoldThemselves) {
  // The leak check of AddressSanitizer looks at these.
  PiecesOf("{% set ns = namespace() %}{% set ns.x = [ns, loop] %}{% set ns.y = ns %}");
  PiecesOf(
      "{% set ns = namespace() %}{% for x in [1] %}{% set ns.l = loop %}"
      "{% if loop.changed(loop) %}{% endif %}{% endfor %}"
      "{% if ns.l.changed(ns.l) %}{% endif %}");
  PiecesOf("{% macro m() %}{{ m is defined }}{% endmacro %}{% set f = m %}{{ f() }}");
}

TEST(TemplateTest, RefusesIntegersOfMoreThan64Bits) {
  for (const char* const source :
       {"{{ 9223372036854775807 + 1 }}", "{{ 9223372036854775808 }}", "{{ 2 ** 63 }}",
        "{{ 9223372036854775807 * 2 }}", "{{ -9223372036854775807 - 2 }}",
        "{{ '9223372036854775808' | int }}", "{{ 1e300 | int }}",
        "{{ range(0, 9, 4611686018427387904)[::4] }}",
        "{{ range(9, 10, 9223372036854775807)[:1] }}"}) {
    EXPECT_TRUE(absl::StrContains(ErrorOf(source).message(), "64 bits")) << source;
  }
  EXPECT_FALSE(ValueFromJson(nlohmann::ordered_json(UINT64_MAX), true).ok());
}

TEST(TemplateTest, ReadsBytesThatAreNoUtf8AsReplacementCharacters) {
  EXPECT_EQ(PiecesOf("a\xFF{{ '\xC3' | length }}"), (Pieces{{"a\uFFFD1", false}}));
}

TEST(TemplateTest, RefusesJsonThatIsNestedTooDeep) {
  nlohmann::ordered_json json = 1;
  for (int i = 0; i < kMaxValueDepth + 1; ++i) json = nlohmann::ordered_json::array({json});
  EXPECT_FALSE(ValueFromJson(json, false).ok());
}

}  // namespace
}  // namespace strata::jinja
