#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "strata/core/status_macros.h"
#include "strata/generate/chat/jinja/attributes.h"
#include "strata/generate/chat/jinja/compare.h"
#include "strata/generate/chat/jinja/cursor.h"
#include "strata/generate/chat/jinja/filters.h"
#include "strata/generate/chat/jinja/interpreter.h"
#include "strata/generate/chat/jinja/operators.h"
#include "strata/generate/chat/jinja/python_text.h"
#include "strata/generate/chat/jinja/tests.h"

namespace strata::jinja {

absl::StatusOr<Value> Interpreter::Evaluate(const Expression& expression, const FramePtr& frame) {
  if (expression.kind == Expression::Kind::kConstant) return expression.constant;
  const absl::Cleanup leave = [this] { budget_.Leave(); };
  if (!budget_.Enter() || !budget_.Step()) return budget_.status();
  absl::StatusOr<Value> value = EvaluateKind(expression, frame);
  if (!budget_.ok()) return budget_.status();
  return value;
}

absl::StatusOr<Value> Interpreter::EvaluateKind(const Expression& expression,
                                                const FramePtr& frame) {
  switch (expression.kind) {
    case Expression::Kind::kConstant:
    case Expression::Kind::kNamespaceRef:
      return expression.constant;
    case Expression::Kind::kName:
      return EvaluateName(expression, frame);
    case Expression::Kind::kTuple:
    case Expression::Kind::kList:
      return EvaluateSequence(expression, frame);
    case Expression::Kind::kDict:
      return EvaluateDict(expression, frame);
    case Expression::Kind::kAttribute:
    case Expression::Kind::kItem:
      return EvaluateItem(expression, frame);
    case Expression::Kind::kSlice:
      return EvaluateSlice(expression, frame);
    case Expression::Kind::kCall:
      return EvaluateCall(expression, Value(), frame);
    case Expression::Kind::kFilter:
      return EvaluateFilter(expression, frame);
    case Expression::Kind::kTest:
      return EvaluateTest(expression, frame);
    case Expression::Kind::kNot:
    case Expression::Kind::kNegate:
    case Expression::Kind::kPlus:
      return EvaluateUnary(expression, frame);
    case Expression::Kind::kAnd:
    case Expression::Kind::kOr:
      return EvaluateLogic(expression, frame);
    case Expression::Kind::kBinary:
      return EvaluateBinary(expression, frame);
    case Expression::Kind::kConcatenate:
      return EvaluateConcatenation(expression, frame);
    case Expression::Kind::kCompare:
      return EvaluateComparison(expression, frame);
    case Expression::Kind::kConditional:
      return EvaluateConditional(expression, frame);
  }
  return Value();
}

absl::StatusOr<Value> Interpreter::EvaluateName(const Expression& expression,
                                                const FramePtr& frame) {
  const Frame* at = frame.get();
  for (int hops = expression.place.hops; hops > 0; --hops) at = at->parent.get();
  const Value& value = at->variables[static_cast<size_t>(expression.place.index)];
  if (!value.IsMissing()) return value;
  return Value::Undefined(absl::StrCat("'", expression.name, "' is undefined"));
}

absl::StatusOr<Value> Interpreter::EvaluateSequence(const Expression& expression,
                                                    const FramePtr& frame) {
  std::vector<Value> items;
  items.reserve(expression.operands.size());
  for (const ExpressionPtr& operand : expression.operands) {
    ASSIGN_OR_RETURN(Value item, Evaluate(*operand, frame));
    items.push_back(std::move(item));
  }
  return expression.kind == Expression::Kind::kTuple ? Value::Tuple(std::move(items), &budget_)
                                                     : Value::List(std::move(items), &budget_);
}

absl::StatusOr<Value> Interpreter::EvaluateDict(const Expression& expression,
                                                const FramePtr& frame) {
  Dict dict;
  for (size_t i = 0; i < expression.operands.size(); i += 2) {
    ASSIGN_OR_RETURN(const Value key, Evaluate(*expression.operands[i], frame));
    ASSIGN_OR_RETURN(Value value, Evaluate(*expression.operands[i + 1], frame));
    std::string text;
    if (!HashText(key, text)) {
      return absl::InvalidArgumentError(absl::StrCat("a ", TypeName(key), " cannot be a key"));
    }
    dict.Set(key, std::move(value));
  }
  return Value::DictOf(std::move(dict), &budget_);
}

absl::StatusOr<Value> Interpreter::EvaluateItem(const Expression& expression,
                                                const FramePtr& frame) {
  ASSIGN_OR_RETURN(const Value value, Evaluate(*expression.operands[0], frame));
  if (expression.kind == Expression::Kind::kAttribute) {
    return GetAttribute(value, expression.name, budget_);
  }
  ASSIGN_OR_RETURN(const Value key, Evaluate(*expression.operands[1], frame));
  return GetItem(value, key, budget_);
}

absl::StatusOr<Value> Interpreter::EvaluateSlice(const Expression& expression,
                                                 const FramePtr& frame) {
  ASSIGN_OR_RETURN(const Value value, Evaluate(*expression.operands[0], frame));
  Value bounds[3];
  for (size_t i = 0; i < 3; ++i) {
    if (expression.operands[i + 1] == nullptr) continue;
    ASSIGN_OR_RETURN(bounds[i], Evaluate(*expression.operands[i + 1], frame));
  }
  return GetSlice(value, bounds[0], bounds[1], bounds[2], budget_);
}

absl::StatusOr<Value> Interpreter::EvaluateFilter(const Expression& expression,
                                                  const FramePtr& frame) {
  Value input;
  if (expression.operands[0] != nullptr) {
    ASSIGN_OR_RETURN(input, Evaluate(*expression.operands[0], frame));
  } else {
    input = Value::String(*filtered_, &budget_);
  }
  ASSIGN_OR_RETURN(const Arguments arguments, EvaluateArguments(expression.arguments, frame));
  return ApplyFilter(expression.name, input, arguments, budget_);
}

absl::StatusOr<Value> Interpreter::EvaluateTest(const Expression& expression,
                                                const FramePtr& frame) {
  ASSIGN_OR_RETURN(const Value value, Evaluate(*expression.operands[0], frame));
  ASSIGN_OR_RETURN(const Arguments arguments, EvaluateArguments(expression.arguments, frame));
  ASSIGN_OR_RETURN(const bool fits, ApplyTest(expression.name, value, arguments, budget_));
  return Value::Bool(fits);
}

absl::StatusOr<Value> Interpreter::EvaluateUnary(const Expression& expression,
                                                 const FramePtr& frame) {
  ASSIGN_OR_RETURN(const Value value, Evaluate(*expression.operands[0], frame));
  if (expression.kind == Expression::Kind::kNot) return Value::Bool(!IsTrue(value));
  return expression.kind == Expression::Kind::kNegate ? Negate(value) : Plus(value);
}

absl::StatusOr<Value> Interpreter::EvaluateLogic(const Expression& expression,
                                                 const FramePtr& frame) {
  ASSIGN_OR_RETURN(Value left, Evaluate(*expression.operands[0], frame));
  const bool needs_right = expression.kind == Expression::Kind::kAnd ? IsTrue(left) : !IsTrue(left);
  if (!needs_right) return left;
  return Evaluate(*expression.operands[1], frame);
}

absl::StatusOr<Value> Interpreter::EvaluateBinary(const Expression& expression,
                                                  const FramePtr& frame) {
  ASSIGN_OR_RETURN(const Value left, Evaluate(*expression.operands[0], frame));
  ASSIGN_OR_RETURN(const Value right, Evaluate(*expression.operands[1], frame));
  return Apply(expression.op, left, right, budget_);
}

absl::StatusOr<Value> Interpreter::EvaluateConcatenation(const Expression& expression,
                                                         const FramePtr& frame) {
  std::vector<Value> values;
  for (const ExpressionPtr& operand : expression.operands) {
    ASSIGN_OR_RETURN(Value value, Evaluate(*operand, frame));
    values.push_back(std::move(value));
  }
  MarkedText text;
  for (const Value& value : values) {
    ASSIGN_OR_RETURN(const MarkedText part, TextOf(value, budget_));
    if (!budget_.HasRoomFor(static_cast<int64_t>(text.bytes() + part.bytes()))) {
      return budget_.status();
    }
    text.Append(part);
  }
  return Value::String(std::move(text), &budget_);
}

namespace {

absl::StatusOr<bool> Compare(Comparison comparison, const Value& a, const Value& b,
                             Budget& budget) {
  switch (comparison) {
    case Comparison::kEqual:
      return AreEqual(a, b, budget);
    case Comparison::kNotEqual:
      return !AreEqual(a, b, budget);
    case Comparison::kLess:
      return IsLess(a, b, budget);
    case Comparison::kLessOrEqual:
      return IsLessOrEqual(a, b, budget);
    case Comparison::kGreater:
      return IsLess(b, a, budget);
    case Comparison::kGreaterOrEqual:
      return IsLessOrEqual(b, a, budget);
    case Comparison::kIn:
      return Contains(b, a, budget);
    case Comparison::kNotIn: {
      ASSIGN_OR_RETURN(const bool contains, Contains(b, a, budget));
      return !contains;
    }
  }
  return false;
}

}  // namespace

absl::StatusOr<Value> Interpreter::EvaluateComparison(const Expression& expression,
                                                      const FramePtr& frame) {
  ASSIGN_OR_RETURN(Value left, Evaluate(*expression.operands[0], frame));
  for (size_t i = 0; i < expression.comparisons.size(); ++i) {
    ASSIGN_OR_RETURN(Value right, Evaluate(*expression.operands[i + 1], frame));
    ASSIGN_OR_RETURN(const bool holds, Compare(expression.comparisons[i], left, right, budget_));
    if (!holds) return Value::Bool(false);
    left = std::move(right);
  }
  return Value::Bool(true);
}

absl::StatusOr<Value> Interpreter::EvaluateConditional(const Expression& expression,
                                                       const FramePtr& frame) {
  ASSIGN_OR_RETURN(const Value condition, Evaluate(*expression.operands[0], frame));
  if (IsTrue(condition)) return Evaluate(*expression.operands[1], frame);
  if (expression.operands[2] != nullptr) return Evaluate(*expression.operands[2], frame);
  return Value::Undefined("a condition is false and has no 'else'");
}

absl::StatusOr<Arguments> Interpreter::EvaluateArguments(const ArgumentList& list,
                                                         const FramePtr& frame) {
  Arguments arguments;
  for (const ExpressionPtr& argument : list.positional) {
    ASSIGN_OR_RETURN(Value value, Evaluate(*argument, frame));
    arguments.positional.push_back(std::move(value));
  }
  for (const auto& [name, argument] : list.named) {
    ASSIGN_OR_RETURN(Value value, Evaluate(*argument, frame));
    arguments.named.emplace_back(name, std::move(value));
  }
  if (list.more_positional != nullptr) {
    ASSIGN_OR_RETURN(const Value more, Evaluate(*list.more_positional, frame));
    ASSIGN_OR_RETURN(std::vector<Value> items, ItemsOf(more, budget_));
    for (Value& item : items) arguments.positional.push_back(std::move(item));
  }
  if (list.more_named != nullptr) {
    ASSIGN_OR_RETURN(const Value more, Evaluate(*list.more_named, frame));
    if (!more.Is(Value::Kind::kDict)) {
      return absl::InvalidArgumentError("what follows '**' is no dict");
    }
    for (const auto& [key, value] : more.dict().entries()) {
      if (!key.IsString()) return absl::InvalidArgumentError("an argument's name is no text");
      budget_.HandleItems(static_cast<int64_t>(arguments.named.size()));
      if (!budget_.ok()) return budget_.status();
      for (const auto& argument : arguments.named) {
        if (argument.first == key.text()) {
          return absl::InvalidArgumentError("an argument is given twice");
        }
      }
      arguments.names_are_content = arguments.names_are_content || key.HasContent();
      arguments.named.emplace_back(key.text(), value);
    }
  }
  return arguments;
}

}  // namespace strata::jinja
