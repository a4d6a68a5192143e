#include "strata/generate/chat/jinja/expression_parser.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "strata/core/status_macros.h"

namespace strata::jinja {
namespace {

using Kind = Expression::Kind;

absl::optional<Comparison> ComparisonOf(const Token& token) {
  if (token.kind != Token::Kind::kOperator) return absl::nullopt;
  if (token.text == "==") return Comparison::kEqual;
  if (token.text == "!=") return Comparison::kNotEqual;
  if (token.text == "<") return Comparison::kLess;
  if (token.text == "<=") return Comparison::kLessOrEqual;
  if (token.text == ">") return Comparison::kGreater;
  if (token.text == ">=") return Comparison::kGreaterOrEqual;
  return absl::nullopt;
}

bool CanAssign(const Expression& target) {
  if (target.kind == Kind::kName) return true;
  return target.kind == Kind::kTuple &&
         std::all_of(target.operands.begin(), target.operands.end(),
                     [](const ExpressionPtr& item) { return CanAssign(*item); });
}

}  // namespace

absl::Status ExpressionParser::UpdateDepth(Expression& expression) const {
  int depth = 0;
  const auto include = [&](const ExpressionPtr& part) {
    if (part != nullptr) depth = std::max(depth, part->depth);
  };
  for (const ExpressionPtr& operand : expression.operands) include(operand);
  for (const ExpressionPtr& argument : expression.arguments.positional) include(argument);
  for (const auto& argument : expression.arguments.named) include(argument.second);
  include(expression.arguments.more_positional);
  include(expression.arguments.more_named);
  expression.depth = depth + 1;
  if (expression.depth > kMaxDepth) return tokens_.Error("an expression is nested too deep");
  return absl::OkStatus();
}

absl::StatusOr<ExpressionPtr> ExpressionParser::Make(Kind kind, int line,
                                                     std::vector<ExpressionPtr> operands) {
  ExpressionPtr expression(new Expression{kind, line});
  expression->operands = std::move(operands);
  RETURN_IF_ERROR(UpdateDepth(*expression));
  return expression;
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseExpression() { return ParseConditional(); }

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseConditional() {
  if (nesting_ >= kMaxDepth) return tokens_.Error("an expression is nested too deep");
  ++nesting_;
  const absl::Cleanup leave = [this] { --nesting_; };
  const int line = tokens_.line();
  ASSIGN_OR_RETURN(ExpressionPtr value, ParseOr());
  while (tokens_.TakeName("if")) {
    ASSIGN_OR_RETURN(ExpressionPtr condition, ParseOr());
    ExpressionPtr otherwise;
    if (tokens_.TakeName("else")) {
      ASSIGN_OR_RETURN(otherwise, ParseConditional());
    }
    ASSIGN_OR_RETURN(value,
                     Make(Kind::kConditional, line,
                          Operands(std::move(condition), std::move(value), std::move(otherwise))));
  }
  return value;
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseOr() {
  const int line = tokens_.line();
  ASSIGN_OR_RETURN(ExpressionPtr left, ParseAnd());
  while (tokens_.TakeName("or")) {
    ASSIGN_OR_RETURN(ExpressionPtr right, ParseAnd());
    ASSIGN_OR_RETURN(left, Make(Kind::kOr, line, Operands(std::move(left), std::move(right))));
  }
  return left;
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseAnd() {
  const int line = tokens_.line();
  ASSIGN_OR_RETURN(ExpressionPtr left, ParseNot());
  while (tokens_.TakeName("and")) {
    ASSIGN_OR_RETURN(ExpressionPtr right, ParseNot());
    ASSIGN_OR_RETURN(left, Make(Kind::kAnd, line, Operands(std::move(left), std::move(right))));
  }
  return left;
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseNot() {
  const int line = tokens_.line();
  if (!tokens_.TakeName("not")) return ParseComparison();
  if (nesting_ >= kMaxDepth) return tokens_.Error("an expression is nested too deep");
  ++nesting_;
  const absl::Cleanup leave = [this] { --nesting_; };
  ASSIGN_OR_RETURN(ExpressionPtr operand, ParseNot());
  return Make(Kind::kNot, line, Operands(std::move(operand)));
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseComparison() {
  const int line = tokens_.line();
  ASSIGN_OR_RETURN(ExpressionPtr first, ParseSum());
  std::vector<ExpressionPtr> operands = Operands(std::move(first));
  std::vector<Comparison> comparisons;
  while (true) {
    if (const absl::optional<Comparison> comparison = ComparisonOf(tokens_.current())) {
      tokens_.Take();
      comparisons.push_back(*comparison);
    } else if (tokens_.TakeName("in")) {
      comparisons.push_back(Comparison::kIn);
    } else if (tokens_.IsAtName("not") && tokens_.next().kind == Token::Kind::kName &&
               tokens_.next().text == "in") {
      tokens_.Take();
      tokens_.Take();
      comparisons.push_back(Comparison::kNotIn);
    } else {
      break;
    }
    ASSIGN_OR_RETURN(ExpressionPtr operand, ParseSum());
    operands.push_back(std::move(operand));
  }
  if (comparisons.empty()) return std::move(operands[0]);
  ASSIGN_OR_RETURN(ExpressionPtr compare, Make(Kind::kCompare, line, std::move(operands)));
  compare->comparisons = std::move(comparisons);
  return compare;
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseChain(
    Parse parse, absl::Span<const absl::string_view> symbols,
    absl::Span<const Operator> operators) {
  const int line = tokens_.line();
  ASSIGN_OR_RETURN(ExpressionPtr left, (this->*parse)());
  while (tokens_.IsAt(Token::Kind::kOperator)) {
    const auto found = std::find(symbols.begin(), symbols.end(), tokens_.current().text);
    if (found == symbols.end()) break;
    tokens_.Take();
    ASSIGN_OR_RETURN(ExpressionPtr right, (this->*parse)());
    ASSIGN_OR_RETURN(left, Make(Kind::kBinary, line, Operands(std::move(left), std::move(right))));
    left->op = operators[static_cast<size_t>(found - symbols.begin())];
  }
  return left;
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseSum() {
  return ParseChain(&ExpressionParser::ParseConcatenation, {"+", "-"},
                    {Operator::kAdd, Operator::kSubtract});
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseConcatenation() {
  const int line = tokens_.line();
  ASSIGN_OR_RETURN(ExpressionPtr first, ParseProduct());
  if (!tokens_.IsAtOperator("~")) return first;
  std::vector<ExpressionPtr> operands = Operands(std::move(first));
  while (tokens_.TakeOperator("~")) {
    ASSIGN_OR_RETURN(ExpressionPtr operand, ParseProduct());
    operands.push_back(std::move(operand));
  }
  return Make(Kind::kConcatenate, line, std::move(operands));
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseProduct() {
  return ParseChain(
      &ExpressionParser::ParsePower, {"*", "/", "//", "%"},
      {Operator::kMultiply, Operator::kDivide, Operator::kFloorDivide, Operator::kModulo});
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParsePower() {
  return ParseChain(&ExpressionParser::ParseUnary, {"**"}, {Operator::kPower});
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseUnary() {
  ASSIGN_OR_RETURN(ExpressionPtr operand, ParseUnaryWithoutFilters());
  return ParseFiltersAndTests(std::move(operand));
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseUnaryWithoutFilters() {
  const int line = tokens_.line();
  if (!tokens_.IsAtOperator("-") && !tokens_.IsAtOperator("+")) {
    ASSIGN_OR_RETURN(ExpressionPtr operand, ParsePrimary());
    return ParsePostfix(std::move(operand));
  }
  if (nesting_ >= kMaxDepth) return tokens_.Error("an expression is nested too deep");
  ++nesting_;
  const absl::Cleanup leave = [this] { --nesting_; };
  const Kind kind = tokens_.Take().text == "-" ? Kind::kNegate : Kind::kPlus;
  ASSIGN_OR_RETURN(ExpressionPtr operand, ParseUnaryWithoutFilters());
  ASSIGN_OR_RETURN(ExpressionPtr unary, Make(kind, line, Operands(std::move(operand))));
  return ParsePostfix(std::move(unary));
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseName() {
  const Token& token = tokens_.Take();
  const std::string& name = token.text;
  const bool is_true = name == "true" || name == "True";
  const bool is_none = name == "none" || name == "None";
  const bool is_constant = is_true || is_none || name == "false" || name == "False";
  ASSIGN_OR_RETURN(ExpressionPtr expression,
                   Make(is_constant ? Kind::kConstant : Kind::kName, token.line, {}));
  if (is_constant) {
    expression->constant = is_none ? Value::None() : Value::Bool(is_true);
  } else {
    expression->name = name;
  }
  return expression;
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParsePrimary() {
  const Token& token = tokens_.current();
  switch (token.kind) {
    case Token::Kind::kName:
      return ParseName();
    case Token::Kind::kString: {
      std::string text;
      while (tokens_.IsAt(Token::Kind::kString)) text += tokens_.Take().text;
      ASSIGN_OR_RETURN(ExpressionPtr constant, Make(Kind::kConstant, token.line, {}));
      constant->constant = Value::String(text);
      return constant;
    }
    case Token::Kind::kInteger:
    case Token::Kind::kFloat: {
      ASSIGN_OR_RETURN(ExpressionPtr constant, Make(Kind::kConstant, token.line, {}));
      constant->constant = token.kind == Token::Kind::kInteger ? Value::Int(token.integer)
                                                               : Value::Float(token.number);
      tokens_.Take();
      return constant;
    }
    default:
      break;
  }
  if (tokens_.TakeOperator("(")) {
    ASSIGN_OR_RETURN(ExpressionPtr tuple,
                     ParseElements(&ExpressionParser::ParseExpression, true, false));
    RETURN_IF_ERROR(tokens_.ExpectOperator(")"));
    return tuple;
  }
  if (tokens_.TakeOperator("[")) return ParseList();
  if (tokens_.TakeOperator("{")) return ParseDict();
  return tokens_.Unexpected("an expression");
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseList() {
  const int line = tokens_.line();
  std::vector<ExpressionPtr> items;
  while (!tokens_.IsAtOperator("]")) {
    if (!items.empty()) RETURN_IF_ERROR(tokens_.ExpectOperator(","));
    if (tokens_.IsAtOperator("]")) break;
    ASSIGN_OR_RETURN(ExpressionPtr item, ParseExpression());
    items.push_back(std::move(item));
  }
  RETURN_IF_ERROR(tokens_.ExpectOperator("]"));
  return Make(Kind::kList, line, std::move(items));
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseDict() {
  const int line = tokens_.line();
  std::vector<ExpressionPtr> items;
  while (!tokens_.IsAtOperator("}")) {
    if (!items.empty()) RETURN_IF_ERROR(tokens_.ExpectOperator(","));
    if (tokens_.IsAtOperator("}")) break;
    ASSIGN_OR_RETURN(ExpressionPtr key, ParseExpression());
    RETURN_IF_ERROR(tokens_.ExpectOperator(":"));
    ASSIGN_OR_RETURN(ExpressionPtr value, ParseExpression());
    items.push_back(std::move(key));
    items.push_back(std::move(value));
  }
  RETURN_IF_ERROR(tokens_.ExpectOperator("}"));
  return Make(Kind::kDict, line, std::move(items));
}

bool ExpressionParser::IsAtTupleEnd(bool ends_at_in) const {
  return tokens_.IsAt(Token::Kind::kVariableEnd) || tokens_.IsAt(Token::Kind::kBlockEnd) ||
         tokens_.IsAtOperator(")") || (ends_at_in && tokens_.IsAtName("in"));
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseElements(Parse parse, bool is_in_brackets,
                                                              bool ends_at_in) {
  const int line = tokens_.line();
  std::vector<ExpressionPtr> items;
  bool is_tuple = false;
  while (true) {
    if (!items.empty()) RETURN_IF_ERROR(tokens_.ExpectOperator(","));
    if (IsAtTupleEnd(ends_at_in)) break;
    ASSIGN_OR_RETURN(ExpressionPtr item, (this->*parse)());
    items.push_back(std::move(item));
    if (!tokens_.IsAtOperator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !items.empty()) return std::move(items[0]);
  if (!is_tuple && !is_in_brackets) return tokens_.Unexpected("an expression");
  return Make(Kind::kTuple, line, std::move(items));
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseTuple(bool with_condition) {
  return ParseElements(
      with_condition ? &ExpressionParser::ParseExpression : &ExpressionParser::ParseOr, false,
      false);
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseTarget() {
  ASSIGN_OR_RETURN(ExpressionPtr target,
                   ParseElements(&ExpressionParser::ParsePrimary, false, true));
  if (!CanAssign(*target)) return tokens_.Error("this cannot be assigned to");
  return target;
}

}  // namespace strata::jinja
