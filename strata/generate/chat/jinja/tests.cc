#include "strata/generate/chat/jinja/tests.h"

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "strata/core/status_macros.h"
#include "strata/generate/chat/jinja/compare.h"
#include "strata/generate/chat/jinja/cursor.h"
#include "strata/generate/chat/jinja/filters.h"
#include "strata/generate/chat/jinja/methods.h"
#include "strata/generate/chat/jinja/operators.h"
#include "strata/generate/chat/jinja/python_text.h"

namespace strata::jinja {
namespace {

enum class Test {
  kBoolean,
  kCallable,
  kDefined,
  kDivisibleBy,
  kEqual,
  kEscaped,
  kEven,
  kFalse,
  kFilter,
  kFloat,
  kGreater,
  kGreaterOrEqual,
  kIn,
  kInteger,
  kIterable,
  kLess,
  kLessOrEqual,
  kLower,
  kMapping,
  kNone,
  kNotEqual,
  kNumber,
  kOdd,
  kSameAs,
  kSequence,
  kString,
  kTest,
  kTrue,
  kUndefined,
  kUpper,
};

using TestTable = absl::flat_hash_map<absl::string_view, Test>;

const TestTable& Tests() {
  static const TestTable& tests = *new TestTable{
      {"!=", Test::kNotEqual},
      {"<", Test::kLess},
      {"<=", Test::kLessOrEqual},
      {"==", Test::kEqual},
      {">", Test::kGreater},
      {">=", Test::kGreaterOrEqual},
      {"boolean", Test::kBoolean},
      {"callable", Test::kCallable},
      {"defined", Test::kDefined},
      {"divisibleby", Test::kDivisibleBy},
      {"eq", Test::kEqual},
      {"equalto", Test::kEqual},
      {"escaped", Test::kEscaped},
      {"even", Test::kEven},
      {"false", Test::kFalse},
      {"filter", Test::kFilter},
      {"float", Test::kFloat},
      {"ge", Test::kGreaterOrEqual},
      {"greaterthan", Test::kGreater},
      {"gt", Test::kGreater},
      {"in", Test::kIn},
      {"integer", Test::kInteger},
      {"iterable", Test::kIterable},
      {"le", Test::kLessOrEqual},
      {"lessthan", Test::kLess},
      {"lower", Test::kLower},
      {"lt", Test::kLess},
      {"mapping", Test::kMapping},
      {"ne", Test::kNotEqual},
      {"none", Test::kNone},
      {"number", Test::kNumber},
      {"odd", Test::kOdd},
      {"sameas", Test::kSameAs},
      {"sequence", Test::kSequence},
      {"string", Test::kString},
      {"test", Test::kTest},
      {"true", Test::kTrue},
      {"undefined", Test::kUndefined},
      {"upper", Test::kUpper},
  };
  return tests;
}

bool TakesOther(Test test) {
  switch (test) {
    case Test::kDivisibleBy:
    case Test::kEqual:
    case Test::kGreater:
    case Test::kGreaterOrEqual:
    case Test::kIn:
    case Test::kLess:
    case Test::kLessOrEqual:
    case Test::kNotEqual:
    case Test::kSameAs:
      return true;
    default:
      return false;
  }
}

absl::StatusOr<bool> LeavesRest(const Value& value, const Value& divisor, int64_t rest,
                                Budget& budget) {
  ASSIGN_OR_RETURN(const Value found, Apply(Operator::kModulo, value, divisor, budget));
  return AreEqual(found, Value::Int(rest), budget);
}

absl::StatusOr<bool> HasCase(const Value& value, absl::string_view method, Budget& budget) {
  ASSIGN_OR_RETURN(MarkedText text, TextOf(value, budget));
  ASSIGN_OR_RETURN(const Value has_case,
                   CallStringMethod(Value::String(std::move(text), &budget), method, {}, budget));
  return has_case.bool_value();
}

// `is`: the same object to Python, which has one of each small integer and of each text written
// in a template.
bool IsSame(const Value& a, const Value& b, Budget& budget) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Value::Kind::kNone:
    case Value::Kind::kBool:
    case Value::Kind::kInt:
    case Value::Kind::kString:
    case Value::Kind::kFunction:
    case Value::Kind::kNamespace:
      return AreEqual(a, b, budget);
    default:
      return a.IsSameObject(b) && a.shared_object() != nullptr;
  }
}

bool IsSequenceLike(const Value& value) {
  // What has a length and items.
  return value.IsString() || value.IsSequence() || value.Is(Value::Kind::kDict) ||
         value.Is(Value::Kind::kRange) || value.IsUndefined();
}

absl::StatusOr<bool> ApplyBinary(Test test, const Value& value, const Value& other,
                                 Budget& budget) {
  switch (test) {
    case Test::kDivisibleBy:
      return LeavesRest(value, other, 0, budget);
    case Test::kEqual:
      return AreEqual(value, other, budget);
    case Test::kGreater:
      return IsLess(other, value, budget);
    case Test::kGreaterOrEqual:
      return IsLessOrEqual(other, value, budget);
    case Test::kIn:
      return Contains(other, value, budget);
    case Test::kLess:
      return IsLess(value, other, budget);
    case Test::kLessOrEqual:
      return IsLessOrEqual(value, other, budget);
    case Test::kNotEqual:
      return !AreEqual(value, other, budget);
    default:
      return IsSame(value, other, budget);
  }
}

absl::StatusOr<bool> ApplyUnary(Test test, const Value& value, Budget& budget) {
  switch (test) {
    case Test::kBoolean:
      return value.Is(Value::Kind::kBool);
    case Test::kCallable:
      return value.Is(Value::Kind::kFunction) || value.Is(Value::Kind::kMethod) ||
             value.Is(Value::Kind::kMacro) || value.Is(Value::Kind::kJoiner) ||
             value.Is(Value::Kind::kLoop) || value.IsUndefined();
    case Test::kDefined:
      return !value.IsUndefined();
    case Test::kEscaped:
      return value.IsMarkup();
    case Test::kEven:
      return LeavesRest(value, Value::Int(2), 0, budget);
    case Test::kFalse:
      return value.Is(Value::Kind::kBool) && !value.bool_value();
    case Test::kFilter:
      return value.IsString() && IsFilter(value.text());
    case Test::kFloat:
      return value.Is(Value::Kind::kFloat);
    case Test::kInteger:
      return value.Is(Value::Kind::kInt);
    case Test::kIterable:
      return IsIterable(value) || value.Is(Value::Kind::kLoop);
    case Test::kLower:
      return HasCase(value, "islower", budget);
    case Test::kMapping:
      return value.Is(Value::Kind::kDict);
    case Test::kNone:
      return value.IsNone();
    case Test::kNumber:
      return value.IsNumber();
    case Test::kOdd:
      return LeavesRest(value, Value::Int(2), 1, budget);
    case Test::kSequence:
      return IsSequenceLike(value);
    case Test::kString:
      return value.IsString();
    case Test::kTest:
      return value.IsString() && IsTest(value.text());
    case Test::kTrue:
      return value.Is(Value::Kind::kBool) && value.bool_value();
    case Test::kUndefined:
      return value.IsUndefined();
    default:
      return HasCase(value, "isupper", budget);
  }
}

}  // namespace

bool IsTest(absl::string_view name) { return Tests().contains(name); }

absl::StatusOr<bool> ApplyTest(absl::string_view name, const Value& value,
                               const Arguments& arguments, Budget& budget) {
  if (!budget.Step()) return budget.status();
  const auto found = Tests().find(name);
  if (found == Tests().end()) {
    return absl::InvalidArgumentError(absl::StrCat("there is no test '", name, "'"));
  }
  const size_t num_others = TakesOther(found->second) ? 1 : 0;
  if (arguments.positional.size() != num_others || !arguments.named.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("the test '", name, "' wants ", num_others,
                                                   " arguments and is given ",
                                                   arguments.positional.size()));
  }
  absl::StatusOr<bool> fits =
      num_others == 1 ? ApplyBinary(found->second, value, arguments.positional[0], budget)
                      : ApplyUnary(found->second, value, budget);
  if (!budget.ok()) return budget.status();
  return fits;
}

}  // namespace strata::jinja
