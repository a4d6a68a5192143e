#include "strata/generate/chat/jinja/testing/template_generator.h"

#include "absl/strings/str_cat.h"

namespace strata::jinja {

using absl::StrCat;

std::string TemplateGenerator::Space() { return Pick({"", "", " ", "\n", "  \n", "\t"}); }

std::string TemplateGenerator::Tag(const std::string& inside) {
  return StrCat(Pick({"{% ", "{%- ", "{%"}), inside, Pick({" %}", " -%}", "%}", " +%}"}));
}

std::string TemplateGenerator::Template() {
  return StrCat("{% macro m(p, q='dq', r=p) %}[{{ p }}:{{ q }}", Space(), "{{ r }}]{% endmacro %}",
                "{% set ns = namespace(n=0, t='') %}", Body(4));
}

std::string TemplateGenerator::Body(int depth) {
  std::string body;
  for (size_t i = 0; i <= Below(4); ++i) absl::StrAppend(&body, Statement(depth));
  return body;
}

std::string TemplateGenerator::Statement(int depth) {
  if (depth == 0) return Pick({"text", " \n", "<|x|>", "  ", "{{ s }}", "{# c #}"});
  const int next = depth - 1;
  switch (Below(14)) {
    case 0:
      return StrCat(Tag(StrCat("if ", Condition(next))), Space(), Body(next), Tag("endif"));
    case 1:
      return StrCat(Tag(StrCat("if ", Condition(next))), Body(next), Space(),
                    Tag(StrCat("elif ", Condition(next))), Body(next), Tag("else"), Body(next),
                    Tag("endif"));
    case 2:
      return StrCat(Tag(StrCat("for i in ", List(next))), Body(next), "{{ i }}{{ loop.index }}",
                    Pick({"{% if loop.last %}{% break %}{% endif %}", "", "{{ loop.first }}",
                          "{{ loop.previtem }}{{ loop.nextitem }}"}),
                    Tag("endfor"));
    case 3:
      return StrCat(Tag(StrCat("for x in ", List(next), " if ", Condition(next))), Space(),
                    "{{ x }}", Body(next), Tag("else"), "none", Tag("endfor"));
    case 4:
      return Tag(
          StrCat("set ", Pick({"a", "b", "s", "u", "ns.t", "ns.n", "v"}), " = ", Expression(next)));
    case 5:
      return StrCat(Tag("set s"), Body(next), Tag("endset"));
    case 6:
      return StrCat("{{ m(", Expression(next), ", ", Pick({"", "q="}), Expression(next), ") }}");
    case 7:
      return StrCat(Tag(Pick({"filter upper", "filter trim", "filter replace('t', s)"})),
                    Body(next), Tag("endfilter"));
    case 8:
      return StrCat("{% for g in messages %}{{ g.role }}: {{ g.content", Pick({"", " | trim"}),
                    " }}", Space(), "{% endfor %}");
    default:
      return StrCat(Pick({"{{ ", "{{- ", "{{"}), Expression(next), Pick({" }}", " -}}", "}}"}),
                    Space());
  }
}

std::string TemplateGenerator::Expression(int depth) {
  switch (Below(6)) {
    case 0:
      return Number(depth);
    case 1:
      return List(depth);
    case 2:
      return Condition(depth);
    default:
      return Text(depth);
  }
}

std::string TemplateGenerator::Text(int depth) {
  if (depth <= 0) {
    return Pick({"s", "u", "d.x", "d['y']", "'lit'", "\"q'\\n\"", "''", "ls[0]", "ns.t",
                 "messages[0].content", "messages[-1]['role']", "ls | join('-')", "nope"});
  }
  const int next = depth - 1;
  const std::string text = Text(next);
  switch (Below(22)) {
    case 0:
      return StrCat("(", text, " + ", Text(next), ")");
    case 1:
      return StrCat("(", text, " ~ ", Expression(next), ")");
    case 2:
      return StrCat("(", text, ")[", Pick({"", "0", "1", "-2", "a"}), ":",
                    Pick({"", "2", "-1", "b"}), "]");
    case 3:
      return StrCat("(", text, ")[::", Pick({"-1", "2", "-2"}), "]");
    case 4:
      return StrCat(
          "(", text, " | ",
          Pick({"upper", "lower", "title", "capitalize", "trim", "replace('l', 'T')", "string",
                "default('d')", "replace('t', 'T')", "indent(2)", "truncate(9)", "center(9)"}),
          ")");
    case 5:
      return StrCat("(", text, ").",
                    Pick({"strip()", "lstrip()", "rstrip()", "upper()", "title()", "swapcase()",
                          "zfill(8)", "ljust(7, '.')", "removeprefix('l')", "replace('', '.')"}));
    case 6:
      return StrCat("(", text, ").split(", Pick({"", "'t'", "none, 1", "' '"}), ")[",
                    Pick({"0", "-1"}), "]");
    case 7:
      return StrCat("(", text, ") % ", Pick({"()", "d"}));
    case 8:
      return StrCat("'<%s|%5s>' % (", text, ", ", Expression(next), ")");
    case 9:
      return StrCat("'{}/{:>6}'.format(", Expression(next), ", ", text, ")");
    case 10:
      return StrCat("(", Expression(next), " | tojson", Pick({"", "(indent=2)"}), ")");
    case 11:
      return StrCat("(", List(next), " | join(", text, "))");
    case 12:
      return StrCat("(", text, " * ", Pick({"2", "0", "3"}), ")");
    case 13:
      return StrCat("(", text, " if ", Condition(next), " else ", Text(next), ")");
    case 14:
      return StrCat("(", List(next), " | ", Pick({"first | string", "last | string"}), ")");
    case 15:
      return StrCat("(", Text(next), " or ", Text(next), ")");
    case 16:
      return StrCat("(", Expression(next), " | string)");
    case 17:
      return StrCat("(", text, " | replace(", Text(next), ", ", Text(next), "))");
    case 18:
      return StrCat("(", text, ").join(ls)");
    case 19:
      return StrCat("(", text, ").partition('t') | join('|')");
    case 20:
      return StrCat("m(", text, ")");
    default:
      return text;
  }
}

std::string TemplateGenerator::Number(int depth) {
  if (depth <= 0) return Pick({"0", "1", "2", "-1", "a", "b", "3.5", "ns.n", "l[0]", "2.0"});
  const int next = depth - 1;
  switch (Below(6)) {
    case 0:
      return StrCat("(", Number(next), Pick({" + ", " - ", " * ", " // ", " % ", " / "}),
                    Number(next), ")");
    case 1:
      return StrCat("(", Text(next), " | length)");
    case 2:
      return StrCat("(", List(next), Pick({" | length)", " | sum)", " | list | count)"}));
    case 3:
      return StrCat("(", Expression(next), Pick({" | int)", " | float)", " | string | length)"}));
    case 4:
      return StrCat("(", Text(next), ").", Pick({"find('t')", "count('l')", "rfind(s)"}));
    default:
      return Number(0);
  }
}

std::string TemplateGenerator::List(int depth) {
  if (depth <= 0) return Pick({"l", "ls", "[1, 2]", "[]", "range(3)", "d", "(s, u)", "s"});
  const int next = depth - 1;
  switch (Below(9)) {
    case 0:
      return StrCat("[", Expression(next), ", ", Expression(next), "]");
    case 1:
      return StrCat("(", List(next), " | list)[", Pick({"1:", ":2", "::-1", ":-1"}), "]");
    case 2:
      return StrCat("(", List(next), " | ",
                    Pick({"sort", "reverse | list", "unique | list", "list", "map('string') | list",
                          "select('string') | list", "map('upper') | list", "batch(2) | list",
                          "reject('none') | list"}),
                    ")");
    case 3:
      return StrCat(
          "(", Text(next), ").",
          Pick({"split()", "split('t', 1)", "splitlines()", "rsplit('l')", "partition(' ')"}));
    case 4:
      return StrCat("(", List(next), " | list + ", List(next), " | list)");
    case 5:
      return Pick({"d.items() | list", "d | dictsort", "d.values() | list", "d | items | list"});
    case 6:
      return StrCat("{'k': ", Expression(next), ", ", Text(next), ": 1}");
    case 7:
      return "messages | map(attribute='content') | list";
    default:
      return List(0);
  }
}

std::string TemplateGenerator::Condition(int depth) {
  if (depth <= 0) return Pick({"true", "false", "a", "s", "l", "nope", "nope is defined", "none"});
  const int next = depth - 1;
  switch (Below(8)) {
    case 0:
      return StrCat("(", Number(next), Pick({" < ", " == ", " >= ", " != "}), Number(next), ")");
    case 1:
      return StrCat("(", Text(next), Pick({" == ", " < ", " in ", " not in "}), Text(next), ")");
    case 2:
      return StrCat("(not ", Condition(next), ")");
    case 3:
      return StrCat("(", Condition(next), Pick({" and ", " or "}), Condition(next), ")");
    case 4:
      return StrCat("(", Expression(next), " is ",
                    Pick({"string", "none", "number", "iterable", "mapping", "defined",
                          "not sequence", "boolean", "odd"}),
                    ")");
    case 5:
      return StrCat("(", Text(next), ").startswith(", Text(next), ")");
    case 6:
      return StrCat("(", Number(next), " in ", List(next), ")");
    default:
      return Condition(0);
  }
}

}  // namespace strata::jinja
