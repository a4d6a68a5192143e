// What follows an operand: subscripts, calls, filters and tests.

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "strata/core/status_macros.h"
#include "strata/generate/chat/jinja/expression_parser.h"

namespace strata::jinja {
namespace {

using Kind = Expression::Kind;

}  // namespace

absl::StatusOr<ExpressionPtr> ExpressionParser::ParsePostfix(ExpressionPtr operand) {
  while (true) {
    if (tokens_.IsAtOperator(".") || tokens_.IsAtOperator("[")) {
      ASSIGN_OR_RETURN(operand, ParseSubscript(std::move(operand)));
    } else if (tokens_.IsAtOperator("(")) {
      ASSIGN_OR_RETURN(operand, ParseCall(std::move(operand)));
    } else {
      return operand;
    }
  }
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseFiltersAndTests(ExpressionPtr operand) {
  while (true) {
    if (tokens_.IsAtOperator("|")) {
      ASSIGN_OR_RETURN(operand, ParseFilters(std::move(operand)));
    } else if (tokens_.IsAtName("is")) {
      ASSIGN_OR_RETURN(operand, ParseTest(std::move(operand)));
    } else if (tokens_.IsAtOperator("(")) {
      ASSIGN_OR_RETURN(operand, ParseCall(std::move(operand)));
    } else {
      return operand;
    }
  }
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseSubscript(ExpressionPtr operand) {
  const int line = tokens_.line();
  if (tokens_.TakeOperator(".")) {
    if (tokens_.IsAt(Token::Kind::kInteger)) {
      ASSIGN_OR_RETURN(ExpressionPtr index, Make(Kind::kConstant, line, {}));
      index->constant = Value::Int(tokens_.Take().integer);
      return Make(Kind::kItem, line, Operands(std::move(operand), std::move(index)));
    }
    ASSIGN_OR_RETURN(std::string name, tokens_.ExpectName());
    ASSIGN_OR_RETURN(ExpressionPtr attribute,
                     Make(Kind::kAttribute, line, Operands(std::move(operand))));
    attribute->name = std::move(name);
    return attribute;
  }
  tokens_.Take();
  std::vector<ExpressionPtr> bounds;  // Of a slice: start, stop and step.
  const auto is_at_end = [this] {
    return tokens_.IsAtOperator("]") || tokens_.IsAtOperator(":") || tokens_.IsAtOperator(",");
  };
  bool is_slice = false;
  while (bounds.size() < 3) {
    ExpressionPtr bound;
    if (!is_at_end()) {
      ASSIGN_OR_RETURN(bound, ParseExpression());
    }
    bounds.push_back(std::move(bound));
    if (bounds.size() == 3 || !tokens_.TakeOperator(":")) break;
    is_slice = true;
  }
  if (is_slice) {
    bounds.resize(3);
    RETURN_IF_ERROR(tokens_.ExpectOperator("]"));
    return Make(Kind::kSlice, line,
                Operands(std::move(operand), std::move(bounds[0]), std::move(bounds[1]),
                         std::move(bounds[2])));
  }
  ExpressionPtr key = std::move(bounds[0]);
  // Several keys, or none, are a tuple.
  if (key == nullptr || tokens_.IsAtOperator(",")) {
    std::vector<ExpressionPtr> keys;
    if (key != nullptr) keys.push_back(std::move(key));
    while (!keys.empty() && tokens_.TakeOperator(",")) {
      ASSIGN_OR_RETURN(ExpressionPtr next, ParseExpression());
      keys.push_back(std::move(next));
    }
    ASSIGN_OR_RETURN(key, Make(Kind::kTuple, line, std::move(keys)));
  }
  RETURN_IF_ERROR(tokens_.ExpectOperator("]"));
  return Make(Kind::kItem, line, Operands(std::move(operand), std::move(key)));
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseCall(ExpressionPtr operand) {
  const int line = tokens_.line();
  ASSIGN_OR_RETURN(ArgumentList arguments, ParseArguments());
  ASSIGN_OR_RETURN(ExpressionPtr call, Make(Kind::kCall, line, Operands(std::move(operand))));
  call->arguments = std::move(arguments);
  RETURN_IF_ERROR(UpdateDepth(*call));
  return call;
}

absl::Status ExpressionParser::ParseArgument(ArgumentList& arguments) {
  const absl::Status misplaced = tokens_.Error("an argument in a wrong place");
  if (tokens_.TakeOperator("*")) {
    if (arguments.more_positional != nullptr || arguments.more_named != nullptr) return misplaced;
    ASSIGN_OR_RETURN(arguments.more_positional, ParseExpression());
  } else if (tokens_.TakeOperator("**")) {
    if (arguments.more_named != nullptr) return misplaced;
    ASSIGN_OR_RETURN(arguments.more_named, ParseExpression());
  } else if (tokens_.IsAt(Token::Kind::kName) && tokens_.IsNextOperator("=")) {
    if (arguments.more_named != nullptr) return misplaced;
    const std::string name = tokens_.Take().text;
    for (const auto& argument : arguments.named) {
      if (argument.first == name) return tokens_.Error("an argument is given twice");
    }
    tokens_.Take();
    ASSIGN_OR_RETURN(ExpressionPtr value, ParseExpression());
    arguments.named.emplace_back(name, std::move(value));
  } else {
    if (arguments.more_positional != nullptr || arguments.more_named != nullptr ||
        !arguments.named.empty()) {
      return misplaced;
    }
    ASSIGN_OR_RETURN(ExpressionPtr value, ParseExpression());
    arguments.positional.push_back(std::move(value));
  }
  return absl::OkStatus();
}

absl::StatusOr<ArgumentList> ExpressionParser::ParseArguments() {
  RETURN_IF_ERROR(tokens_.ExpectOperator("("));
  ArgumentList arguments;
  for (bool is_first = true; !tokens_.IsAtOperator(")"); is_first = false) {
    if (!is_first) {
      RETURN_IF_ERROR(tokens_.ExpectOperator(","));
      if (tokens_.IsAtOperator(")")) break;
    }
    RETURN_IF_ERROR(ParseArgument(arguments));
  }
  RETURN_IF_ERROR(tokens_.ExpectOperator(")"));
  return arguments;
}

absl::StatusOr<std::string> ExpressionParser::ParseDottedName() {
  ASSIGN_OR_RETURN(std::string name, tokens_.ExpectName());
  while (tokens_.TakeOperator(".")) {
    ASSIGN_OR_RETURN(const std::string part, tokens_.ExpectName());
    absl::StrAppend(&name, ".", part);
  }
  return name;
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseFilter(ExpressionPtr operand) {
  const int line = tokens_.line();
  ASSIGN_OR_RETURN(std::string name, ParseDottedName());
  ArgumentList arguments;
  if (tokens_.IsAtOperator("(")) {
    ASSIGN_OR_RETURN(arguments, ParseArguments());
  }
  ASSIGN_OR_RETURN(ExpressionPtr filter, Make(Kind::kFilter, line, Operands(std::move(operand))));
  filter->name = std::move(name);
  filter->arguments = std::move(arguments);
  RETURN_IF_ERROR(UpdateDepth(*filter));
  return filter;
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseFilters(ExpressionPtr operand) {
  while (tokens_.TakeOperator("|")) {
    ASSIGN_OR_RETURN(operand, ParseFilter(std::move(operand)));
  }
  return operand;
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseInlineFilters() {
  ASSIGN_OR_RETURN(ExpressionPtr filter, ParseFilter(nullptr));
  return ParseFilters(std::move(filter));
}

absl::StatusOr<ExpressionPtr> ExpressionParser::ParseTest(ExpressionPtr operand) {
  const int line = tokens_.line();
  tokens_.Take();
  const bool is_negated = tokens_.TakeName("not");
  ASSIGN_OR_RETURN(std::string name, ParseDottedName());
  ArgumentList arguments;
  const bool is_at_operand =
      tokens_.IsAt(Token::Kind::kName) || tokens_.IsAt(Token::Kind::kString) ||
      tokens_.IsAt(Token::Kind::kInteger) || tokens_.IsAt(Token::Kind::kFloat) ||
      tokens_.IsAtOperator("[") || tokens_.IsAtOperator("{");
  if (tokens_.IsAtOperator("(")) {
    ASSIGN_OR_RETURN(arguments, ParseArguments());
  } else if (is_at_operand && !tokens_.IsAtName("else") && !tokens_.IsAtName("or") &&
             !tokens_.IsAtName("and")) {
    if (tokens_.IsAtName("is")) return tokens_.Error("tests cannot be chained");
    ASSIGN_OR_RETURN(ExpressionPtr argument, ParsePrimary());
    ASSIGN_OR_RETURN(argument, ParsePostfix(std::move(argument)));
    arguments.positional.push_back(std::move(argument));
  }
  ASSIGN_OR_RETURN(ExpressionPtr test, Make(Kind::kTest, line, Operands(std::move(operand))));
  test->name = std::move(name);
  test->arguments = std::move(arguments);
  RETURN_IF_ERROR(UpdateDepth(*test));
  return is_negated ? Make(Kind::kNot, line, Operands(std::move(test)))
                    : absl::StatusOr<ExpressionPtr>(std::move(test));
}

}  // namespace strata::jinja
