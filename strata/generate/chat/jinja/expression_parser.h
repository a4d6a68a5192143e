// Parses expressions with the precedence that Jinja gives its operators.
#ifndef STRATA_GENERATE_CHAT_JINJA_EXPRESSION_PARSER_H_
#define STRATA_GENERATE_CHAT_JINJA_EXPRESSION_PARSER_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "strata/generate/chat/jinja/syntax.h"
#include "strata/generate/chat/jinja/token_stream.h"

namespace strata::jinja {

// Takes tokens from a stream that outlives it. Errors name the line. Expressions inside each other
// beyond kMaxDepth are refused, so that walks over them need little stack.
class ExpressionParser {
 public:
  static constexpr int kMaxDepth = 200;

  explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

  absl::StatusOr<ExpressionPtr> ParseExpression();
  // One expression, or several with commas, which are a tuple. Without `with_condition` there is no
  // conditional expression in it, since an "if" that follows is the statement's.
  absl::StatusOr<ExpressionPtr> ParseTuple(bool with_condition);
  // What can be assigned to: names, with commas or in brackets.
  absl::StatusOr<ExpressionPtr> ParseTarget();
  // "|name(...)|name", applied to `operand`, which may be null: the text of a block. Null if there
  // is none.
  absl::StatusOr<ExpressionPtr> ParseFilters(ExpressionPtr operand);
  // The same where the first has no "|".
  absl::StatusOr<ExpressionPtr> ParseInlineFilters();

 private:
  using Parse = absl::StatusOr<ExpressionPtr> (ExpressionParser::*)();

  absl::StatusOr<ExpressionPtr> ParseConditional();
  absl::StatusOr<ExpressionPtr> ParseOr();
  absl::StatusOr<ExpressionPtr> ParseAnd();
  absl::StatusOr<ExpressionPtr> ParseNot();
  absl::StatusOr<ExpressionPtr> ParseComparison();
  absl::StatusOr<ExpressionPtr> ParseSum();
  absl::StatusOr<ExpressionPtr> ParseConcatenation();
  absl::StatusOr<ExpressionPtr> ParseProduct();
  absl::StatusOr<ExpressionPtr> ParsePower();
  absl::StatusOr<ExpressionPtr> ParseUnary();
  absl::StatusOr<ExpressionPtr> ParseUnaryWithoutFilters();
  absl::StatusOr<ExpressionPtr> ParsePrimary();
  absl::StatusOr<ExpressionPtr> ParseName();
  absl::StatusOr<ExpressionPtr> ParseList();
  absl::StatusOr<ExpressionPtr> ParseDict();
  // Elements with commas, perhaps in brackets.
  absl::StatusOr<ExpressionPtr> ParseElements(Parse parse, bool is_in_brackets, bool ends_at_in);
  absl::StatusOr<ExpressionPtr> ParsePostfix(ExpressionPtr operand);
  absl::StatusOr<ExpressionPtr> ParseFiltersAndTests(ExpressionPtr operand);
  absl::StatusOr<ExpressionPtr> ParseSubscript(ExpressionPtr operand);
  absl::StatusOr<ExpressionPtr> ParseCall(ExpressionPtr operand);
  absl::StatusOr<ExpressionPtr> ParseFilter(ExpressionPtr operand);
  absl::StatusOr<ExpressionPtr> ParseTest(ExpressionPtr operand);
  absl::StatusOr<ArgumentList> ParseArguments();
  absl::Status ParseArgument(ArgumentList& arguments);
  // A name with dots.
  absl::StatusOr<std::string> ParseDottedName();
  // operand op operand op ..., from the left.
  absl::StatusOr<ExpressionPtr> ParseChain(Parse parse, absl::Span<const absl::string_view> symbols,
                                           absl::Span<const Operator> operators);

  // `operands` may hold nulls.
  absl::StatusOr<ExpressionPtr> Make(Expression::Kind kind, int line,
                                     std::vector<ExpressionPtr> operands);
  // The depth of what `expression` is made of, after its arguments have changed.
  absl::Status UpdateDepth(Expression& expression) const;
  bool IsAtTupleEnd(bool ends_at_in) const;

  TokenStream& tokens_;
  int nesting_ = 0;
};

// A vector of what cannot be copied.
template <typename... Pointers>
std::vector<ExpressionPtr> Operands(Pointers... pointers) {
  std::vector<ExpressionPtr> operands;
  (operands.push_back(std::move(pointers)), ...);
  return operands;
}

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_EXPRESSION_PARSER_H_
