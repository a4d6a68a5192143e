#include "strata/generate/chat/jinja/parser.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "strata/core/printable.h"
#include "strata/core/status_macros.h"
#include "strata/generate/chat/jinja/expression_parser.h"
#include "strata/generate/chat/jinja/scopes.h"
#include "strata/generate/chat/jinja/token_stream.h"

namespace strata::jinja {
namespace {

using Kind = Statement::Kind;
using StatementPtr = std::unique_ptr<Statement>;
using Names = absl::Span<const absl::string_view>;

constexpr int kMaxBlocks = 100;  // Inside each other.

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)), expressions_(tokens_) {}

  // Until a block that begins with one of `ends`, which is current then; without any, to the end.
  absl::StatusOr<Body> ParseBody(Names ends);

 private:
  absl::StatusOr<StatementPtr> ParseOutput();
  absl::StatusOr<StatementPtr> ParseStatement();
  // From the end of the opening tag to one of `ends`.
  absl::StatusOr<Body> ParseBlock(Names ends);
  // The same, and the one end is passed.
  absl::StatusOr<Body> ParseWholeBlock(absl::string_view end);
  absl::StatusOr<StatementPtr> ParseSet();
  absl::StatusOr<StatementPtr> ParseIf();
  absl::StatusOr<StatementPtr> ParseFor();
  absl::StatusOr<StatementPtr> ParseMacro();
  absl::StatusOr<StatementPtr> ParseCall();
  absl::StatusOr<StatementPtr> ParseFilter();
  absl::StatusOr<StatementPtr> ParseGeneration();
  absl::StatusOr<StatementPtr> ParseWith();
  absl::StatusOr<StatementPtr> ParseLoopControl();
  absl::Status ParseParameters(Statement& macro);
  // The body of what is called elsewhere: no loop around it can be left.
  absl::StatusOr<Body> ParseFunctionBody(absl::string_view end);

  StatementPtr New(Kind kind) const { return StatementPtr(new Statement{kind, tokens_.line()}); }

  TokenStream tokens_;
  ExpressionParser expressions_;
  int num_blocks_ = 0;
  int num_loops_ = 0;  // That `break` could leave.
};

absl::StatusOr<StatementPtr> Parser::ParseOutput() {
  StatementPtr output = New(Kind::kOutput);
  tokens_.Take();
  ASSIGN_OR_RETURN(output->expression, expressions_.ParseTuple(true));
  RETURN_IF_ERROR(tokens_.Expect(Token::Kind::kVariableEnd, "the end of the tag"));
  return output;
}

absl::StatusOr<Body> Parser::ParseBody(Names ends) {
  Body body;
  while (!tokens_.IsAt(Token::Kind::kEnd)) {
    if (tokens_.IsAt(Token::Kind::kText)) {
      StatementPtr text = New(Kind::kText);
      text->text = Value::String(tokens_.Take().text);
      body.push_back(std::move(text));
    } else if (tokens_.IsAt(Token::Kind::kVariableBegin)) {
      ASSIGN_OR_RETURN(StatementPtr output, ParseOutput());
      body.push_back(std::move(output));
    } else {
      RETURN_IF_ERROR(tokens_.Expect(Token::Kind::kBlockBegin, "a tag"));
      const bool is_name = tokens_.IsAt(Token::Kind::kName);
      if (is_name && std::find(ends.begin(), ends.end(), tokens_.current().text) != ends.end()) {
        return body;
      }
      ASSIGN_OR_RETURN(StatementPtr statement, ParseStatement());
      body.push_back(std::move(statement));
      RETURN_IF_ERROR(tokens_.Expect(Token::Kind::kBlockEnd, "the end of the tag"));
    }
  }
  if (!ends.empty()) {
    return tokens_.Error(absl::StrCat("the template ends before '", ends[ends.size() - 1], "'"));
  }
  return body;
}

absl::StatusOr<Body> Parser::ParseBlock(Names ends) {
  if (num_blocks_ >= kMaxBlocks) return tokens_.Error("blocks are nested too deep");
  ++num_blocks_;
  const absl::Cleanup leave = [this] { --num_blocks_; };
  tokens_.TakeOperator(":");
  RETURN_IF_ERROR(tokens_.Expect(Token::Kind::kBlockEnd, "the end of the tag"));
  return ParseBody(ends);
}

absl::StatusOr<Body> Parser::ParseWholeBlock(absl::string_view end) {
  ASSIGN_OR_RETURN(Body body, ParseBlock({end}));
  tokens_.Take();
  return body;
}

absl::StatusOr<Body> Parser::ParseFunctionBody(absl::string_view end) {
  const int num_loops = std::exchange(num_loops_, 0);
  absl::StatusOr<Body> body = ParseWholeBlock(end);
  num_loops_ = num_loops;
  return body;
}

absl::StatusOr<StatementPtr> Parser::ParseStatement() {
  if (!tokens_.IsAt(Token::Kind::kName)) return tokens_.Unexpected("the name of a tag");
  const std::string& name = tokens_.current().text;
  if (name == "set") return ParseSet();
  if (name == "if") return ParseIf();
  if (name == "for") return ParseFor();
  if (name == "macro") return ParseMacro();
  if (name == "call") return ParseCall();
  if (name == "filter") return ParseFilter();
  if (name == "generation") return ParseGeneration();
  if (name == "with") return ParseWith();
  if (name == "break" || name == "continue") return ParseLoopControl();
  return tokens_.Error(
      absl::StrCat("a tag '", Printable(name, 40), "' that chat templates do not have here"));
}

absl::StatusOr<StatementPtr> Parser::ParseSet() {
  StatementPtr set = New(Kind::kSet);
  tokens_.Take();
  if (tokens_.IsNextOperator(".")) {
    set->target = ExpressionPtr(new Expression{Expression::Kind::kNamespaceRef, tokens_.line()});
    ASSIGN_OR_RETURN(set->target->variable, tokens_.ExpectName());
    tokens_.Take();
    ASSIGN_OR_RETURN(set->target->name, tokens_.ExpectName());
  } else {
    ASSIGN_OR_RETURN(set->target, expressions_.ParseTarget());
  }
  if (tokens_.TakeOperator("=")) {
    ASSIGN_OR_RETURN(set->expression, expressions_.ParseTuple(true));
    return set;
  }
  set->kind = Kind::kSetBlock;
  ASSIGN_OR_RETURN(set->expression, expressions_.ParseFilters(nullptr));
  ASSIGN_OR_RETURN(set->body, ParseWholeBlock("endset"));
  return set;
}

absl::StatusOr<StatementPtr> Parser::ParseIf() {
  StatementPtr statement = New(Kind::kIf);
  tokens_.Take();
  while (true) {
    Statement::Branch branch;
    ASSIGN_OR_RETURN(branch.condition, expressions_.ParseTuple(false));
    ASSIGN_OR_RETURN(branch.body, ParseBlock({"elif", "else", "endif"}));
    statement->branches.push_back(std::move(branch));
    if (tokens_.TakeName("elif")) continue;
    if (tokens_.TakeName("else")) {
      ASSIGN_OR_RETURN(Body body, ParseWholeBlock("endif"));
      statement->branches.push_back({nullptr, std::move(body)});
    } else {
      tokens_.Take();
    }
    return statement;
  }
}

absl::StatusOr<StatementPtr> Parser::ParseFor() {
  StatementPtr loop = New(Kind::kFor);
  tokens_.Take();
  ASSIGN_OR_RETURN(loop->target, expressions_.ParseTarget());
  if (!tokens_.TakeName("in")) return tokens_.Unexpected("'in'");
  ASSIGN_OR_RETURN(loop->expression, expressions_.ParseTuple(false));
  if (tokens_.TakeName("if")) {
    ASSIGN_OR_RETURN(loop->condition, expressions_.ParseExpression());
  }
  loop->is_recursive = tokens_.TakeName("recursive");
  const int num_loops = num_loops_;
  num_loops_ = loop->is_recursive ? 1 : num_loops + 1;
  absl::StatusOr<Body> body = ParseBlock({"else", "endfor"});
  num_loops_ = loop->is_recursive ? 0 : num_loops;
  if (!body.ok()) return body.status();
  loop->body = *std::move(body);
  if (tokens_.TakeName("else")) {
    ASSIGN_OR_RETURN(loop->otherwise, ParseWholeBlock("endfor"));
  } else {
    tokens_.Take();
  }
  num_loops_ = num_loops;
  return loop;
}

absl::Status Parser::ParseParameters(Statement& macro) {
  RETURN_IF_ERROR(tokens_.ExpectOperator("("));
  while (!tokens_.IsAtOperator(")")) {
    if (!macro.parameters.empty()) RETURN_IF_ERROR(tokens_.ExpectOperator(","));
    ASSIGN_OR_RETURN(std::string name, tokens_.ExpectName());
    if (tokens_.TakeOperator("=")) {
      ASSIGN_OR_RETURN(ExpressionPtr value, expressions_.ParseExpression());
      macro.defaults.push_back(std::move(value));
    } else if (!macro.defaults.empty()) {
      return tokens_.Error("a parameter without a default after one with a default");
    }
    const std::vector<std::string>& names = macro.parameters;
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      return tokens_.Error("two parameters have one name");
    }
    macro.parameters.push_back(std::move(name));
  }
  return tokens_.ExpectOperator(")");
}

absl::StatusOr<StatementPtr> Parser::ParseMacro() {
  StatementPtr macro = New(Kind::kMacro);
  tokens_.Take();
  ASSIGN_OR_RETURN(macro->name, tokens_.ExpectName());
  RETURN_IF_ERROR(ParseParameters(*macro));
  ASSIGN_OR_RETURN(macro->body, ParseFunctionBody("endmacro"));
  return macro;
}

absl::StatusOr<StatementPtr> Parser::ParseCall() {
  StatementPtr call = New(Kind::kCallBlock);
  tokens_.Take();
  if (tokens_.IsAtOperator("(")) RETURN_IF_ERROR(ParseParameters(*call));
  ASSIGN_OR_RETURN(call->expression, expressions_.ParseExpression());
  if (call->expression->kind != Expression::Kind::kCall) return tokens_.Error("expected a call");
  ASSIGN_OR_RETURN(call->body, ParseFunctionBody("endcall"));
  return call;
}

absl::StatusOr<StatementPtr> Parser::ParseFilter() {
  StatementPtr filter = New(Kind::kFilterBlock);
  tokens_.Take();
  ASSIGN_OR_RETURN(filter->expression, expressions_.ParseInlineFilters());
  ASSIGN_OR_RETURN(filter->body, ParseWholeBlock("endfilter"));
  return filter;
}

absl::StatusOr<StatementPtr> Parser::ParseGeneration() {
  StatementPtr generation = New(Kind::kGeneration);
  tokens_.Take();
  ASSIGN_OR_RETURN(generation->body, ParseFunctionBody("endgeneration"));
  return generation;
}

absl::StatusOr<StatementPtr> Parser::ParseWith() {
  StatementPtr with = New(Kind::kWith);
  tokens_.Take();
  while (!tokens_.IsAt(Token::Kind::kBlockEnd)) {
    if (!with->targets.empty()) RETURN_IF_ERROR(tokens_.ExpectOperator(","));
    ASSIGN_OR_RETURN(ExpressionPtr target, expressions_.ParseTarget());
    with->targets.push_back(std::move(target));
    RETURN_IF_ERROR(tokens_.ExpectOperator("="));
    ASSIGN_OR_RETURN(ExpressionPtr value, expressions_.ParseExpression());
    with->defaults.push_back(std::move(value));
  }
  ASSIGN_OR_RETURN(with->body, ParseWholeBlock("endwith"));
  return with;
}

absl::StatusOr<StatementPtr> Parser::ParseLoopControl() {
  StatementPtr control = New(tokens_.current().text == "break" ? Kind::kBreak : Kind::kContinue);
  if (num_loops_ == 0) return tokens_.Error("there is no loop to break or to continue");
  tokens_.Take();
  return control;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ParsedTemplate>> ParseTemplate(absl::string_view source) {
  ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(source));
  auto parsed = std::make_unique<ParsedTemplate>();
  ASSIGN_OR_RETURN(parsed->body, Parser(std::move(tokens)).ParseBody({}));
  RETURN_IF_ERROR(PlaceVariables(*parsed));
  return parsed;
}

}  // namespace strata::jinja
