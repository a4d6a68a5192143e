#include "strata/generate/chat/jinja/scopes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "strata/core/printable.h"
#include "strata/core/status_macros.h"
#include "strata/generate/chat/jinja/filters.h"
#include "strata/generate/chat/jinja/mentions.h"
#include "strata/generate/chat/jinja/symbols.h"
#include "strata/generate/chat/jinja/tests.h"

namespace strata::jinja {
namespace {

using ExpressionKind = Expression::Kind;

// What conditions may cost: far more than any chat template takes.
constexpr int64_t kMaxWork = 5'000'000;

// First pass over a scope: which names it reads and sets. Scopes inside it are left out but for
// what of them is evaluated here.
class NameCollector {
 public:
  // `work` counts what conditions make of the names before them.
  NameCollector(Symbols& symbols, int64_t& work) : symbols_(&symbols), work_(work) {}

  void Visit(const Body& body) {
    for (const auto& statement : body) Visit(*statement);
  }
  void Visit(const Statement& statement);
  void VisitTarget(const Expression& target, bool is_parameter = false);
  void Load(const ExpressionPtr& expression) {
    if (expression == nullptr) return;
    ForEachExpression(*expression, [this](const Expression& part) {
      if (part.kind == ExpressionKind::kName) symbols_->Load(part.name);
    });
  }

 private:
  void VisitConditions(const Statement& statement);

  Symbols* symbols_;
  int64_t& work_;
};

void NameCollector::VisitTarget(const Expression& target, bool is_parameter) {
  switch (target.kind) {
    case ExpressionKind::kName:
      is_parameter ? symbols_->DeclareParameter(target.name) : symbols_->Store(target.name);
      break;
    case ExpressionKind::kNamespaceRef:
      symbols_->Load(target.variable);
      break;
    default:
      for (const ExpressionPtr& item : target.operands) VisitTarget(*item, is_parameter);
      break;
  }
}

void NameCollector::VisitConditions(const Statement& statement) {
  work_ += static_cast<int64_t>(3 * statement.branches.size() * symbols_->num_names());
  if (work_ > kMaxWork) return;
  // Jinja sees three branches: the first, all `elif`s one after another, and `else`.
  const size_t size = statement.branches.size();
  const bool has_else = statement.branches.back().condition == nullptr;
  Load(statement.branches[0].condition);
  Symbols* const outer = symbols_;
  std::vector<Symbols> branches(3, *outer);
  symbols_ = &branches[0];
  Visit(statement.branches[0].body);
  symbols_ = &branches[1];
  for (size_t i = 1; i < size - (has_else ? 1 : 0); ++i) {
    Load(statement.branches[i].condition);
    Symbols* const before = symbols_;
    std::vector<Symbols> inner(3, *before);
    symbols_ = &inner[0];
    Visit(statement.branches[i].body);
    symbols_ = before;
    symbols_->Merge(inner);
  }
  symbols_ = &branches[2];
  if (has_else) Visit(statement.branches.back().body);
  symbols_ = outer;
  symbols_->Merge(branches);
}

void NameCollector::Visit(const Statement& statement) {
  switch (statement.kind) {
    case Statement::Kind::kOutput:
    case Statement::Kind::kFor:
    case Statement::Kind::kCallBlock:
    case Statement::Kind::kFilterBlock:
      Load(statement.expression);
      break;
    case Statement::Kind::kSet:
      Load(statement.expression);
      VisitTarget(*statement.target);
      break;
    case Statement::Kind::kSetBlock:
      VisitTarget(*statement.target);
      break;
    case Statement::Kind::kIf:
      VisitConditions(statement);
      break;
    case Statement::Kind::kMacro:
      symbols_->Store(statement.name);
      break;
    case Statement::Kind::kWith:
      for (const ExpressionPtr& value : statement.defaults) Load(value);
      break;
    default:
      break;
  }
}

// Second pass: places of all names, scope by scope.
class Placer {
 public:
  explicit Placer(int64_t& work) : work_(work) {}

  absl::Status PlaceBody(Body& body, const Symbols& symbols, bool is_conditional);

 private:
  absl::Status Place(Statement& statement, const Symbols& symbols, bool is_conditional);
  absl::Status PlaceFor(Statement& loop, const Symbols& symbols);
  absl::Status PlaceFunction(Statement& macro, const Symbols& symbols);
  absl::Status PlaceWith(Statement& with, const Symbols& symbols);
  absl::Status PlaceCaptured(Statement& block, const Symbols& symbols, bool is_conditional);
  // A filter in what may not be evaluated need not exist.
  absl::Status PlaceExpression(Expression* expression, const Symbols& symbols, bool is_conditional);
  absl::Status PlaceArguments(ArgumentList& arguments, const Symbols& symbols, bool is_conditional);
  absl::Status PlaceTarget(Expression& target, const Symbols& symbols);

  int64_t& work_;
  int num_loops_ = 0;  // Around what is placed: `loop` cannot be set there.
};

absl::Status ErrorAt(int line, absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat("line ", line, ": ", message));
}

absl::Status Placer::PlaceArguments(ArgumentList& arguments, const Symbols& symbols,
                                    bool is_conditional) {
  for (ExpressionPtr& argument : arguments.positional) {
    RETURN_IF_ERROR(PlaceExpression(argument.get(), symbols, is_conditional));
  }
  for (auto& argument : arguments.named) {
    RETURN_IF_ERROR(PlaceExpression(argument.second.get(), symbols, is_conditional));
  }
  RETURN_IF_ERROR(PlaceExpression(arguments.more_positional.get(), symbols, is_conditional));
  return PlaceExpression(arguments.more_named.get(), symbols, is_conditional);
}

absl::Status Placer::PlaceExpression(Expression* expression, const Symbols& symbols,
                                     bool is_conditional) {
  if (expression == nullptr) return absl::OkStatus();
  const std::string& name = expression->name;
  if (expression->kind == ExpressionKind::kName) {
    const absl::optional<VariablePlace> place = symbols.Find(name);
    if (!place.has_value()) {
      return ErrorAt(expression->line, absl::StrCat("'", name, "' cannot be used here"));
    }
    expression->place = *place;
    return absl::OkStatus();
  }
  if (!is_conditional && expression->kind == ExpressionKind::kFilter && !IsFilter(name)) {
    return ErrorAt(expression->line,
                   absl::StrCat("there is no filter '", Printable(name, 40), "'"));
  }
  if (!is_conditional && expression->kind == ExpressionKind::kTest && !IsTest(name)) {
    return ErrorAt(expression->line, absl::StrCat("there is no test '", Printable(name, 40), "'"));
  }
  const bool is_inner_conditional =
      is_conditional || expression->kind == ExpressionKind::kConditional;
  for (ExpressionPtr& operand : expression->operands) {
    RETURN_IF_ERROR(PlaceExpression(operand.get(), symbols, is_inner_conditional));
  }
  return PlaceArguments(expression->arguments, symbols, is_inner_conditional);
}

absl::Status Placer::PlaceTarget(Expression& target, const Symbols& symbols) {
  if (target.kind == ExpressionKind::kTuple) {
    for (ExpressionPtr& item : target.operands) RETURN_IF_ERROR(PlaceTarget(*item, symbols));
    return absl::OkStatus();
  }
  const bool is_name = target.kind == ExpressionKind::kName;
  if (is_name && num_loops_ > 0 && target.name == "loop") {
    return ErrorAt(target.line, "'loop' cannot be set in a loop");
  }
  const absl::optional<VariablePlace> place = symbols.Find(is_name ? target.name : target.variable);
  if (!place.has_value()) return ErrorAt(target.line, "too many conditions and variables");
  target.place = *place;
  return absl::OkStatus();
}

ExpressionPtr CopyOfTarget(const Expression& target) {
  ExpressionPtr copy(new Expression{target.kind, target.line});
  copy->name = target.name;
  for (const ExpressionPtr& item : target.operands) copy->operands.push_back(CopyOfTarget(*item));
  return copy;
}

absl::Status Placer::PlaceFor(Statement& loop, const Symbols& symbols) {
  RETURN_IF_ERROR(PlaceExpression(loop.expression.get(), symbols, false));
  ++num_loops_;
  Symbols inner(&symbols);
  loop.uses_loop = loop.is_recursive || Mentions(loop.body, "loop");
  if (loop.uses_loop) inner.DeclareParameter("loop");
  NameCollector collector(inner, work_);
  collector.VisitTarget(*loop.target, true);
  collector.Visit(loop.body);
  if (loop.uses_loop) loop.place = *inner.Find("loop");
  if (loop.condition != nullptr) {
    Symbols of_condition(&symbols);
    NameCollector of_condition_collector(of_condition, work_);
    of_condition_collector.VisitTarget(*loop.target, true);
    of_condition_collector.Load(loop.condition);
    loop.condition_target = CopyOfTarget(*loop.target);
    RETURN_IF_ERROR(PlaceTarget(*loop.condition_target, of_condition));
    RETURN_IF_ERROR(PlaceExpression(loop.condition.get(), of_condition, false));
    loop.condition_scope = of_condition.MakeScope();
  }
  RETURN_IF_ERROR(PlaceTarget(*loop.target, inner));
  RETURN_IF_ERROR(PlaceBody(loop.body, inner, false));
  loop.scope = inner.MakeScope();
  Symbols otherwise(&symbols);
  NameCollector(otherwise, work_).Visit(loop.otherwise);
  RETURN_IF_ERROR(PlaceBody(loop.otherwise, otherwise, false));
  loop.otherwise_scope = otherwise.MakeScope();
  --num_loops_;
  return absl::OkStatus();
}

absl::Status Placer::PlaceFunction(Statement& macro, const Symbols& symbols) {
  Symbols inner(&symbols);
  for (const std::string& parameter : macro.parameters) inner.DeclareParameter(parameter);
  NameCollector collector(inner, work_);
  for (const ExpressionPtr& value : macro.defaults) collector.Load(value);
  collector.Visit(macro.body);
  const auto is_parameter = [&](absl::string_view name) {
    return std::find(macro.parameters.begin(), macro.parameters.end(), name) !=
           macro.parameters.end();
  };
  std::vector<std::string> names = macro.parameters;
  const auto take = [&](const std::string& name, bool& takes) {
    takes = macro.kind != Statement::Kind::kGeneration && Mentions(macro.body, name) &&
            !is_parameter(name);
    if (!takes) return;
    inner.DeclareParameter(name);
    names.push_back(name);
  };
  if (is_parameter("caller") && Mentions(macro.body, "caller")) {
    const auto at = std::find(macro.parameters.begin(), macro.parameters.end(), "caller");
    const auto after = static_cast<size_t>(macro.parameters.end() - at);
    if (after > macro.defaults.size()) {
      return ErrorAt(macro.line, "a parameter 'caller' needs a default");
    }
  }
  take("caller", macro.takes_caller);
  take("kwargs", macro.takes_kwargs);
  take("varargs", macro.takes_varargs);
  for (const std::string& name : names) macro.parameter_places.push_back(inner.Find(name)->index);
  for (ExpressionPtr& value : macro.defaults) {
    RETURN_IF_ERROR(PlaceExpression(value.get(), inner, false));
  }
  RETURN_IF_ERROR(PlaceBody(macro.body, inner, false));
  macro.scope = inner.MakeScope();
  return absl::OkStatus();
}

absl::Status Placer::PlaceWith(Statement& with, const Symbols& symbols) {
  Symbols inner(&symbols);
  NameCollector collector(inner, work_);
  for (const ExpressionPtr& target : with.targets) collector.VisitTarget(*target, true);
  collector.Visit(with.body);
  for (ExpressionPtr& target : with.targets) RETURN_IF_ERROR(PlaceTarget(*target, inner));
  for (ExpressionPtr& value : with.defaults) {
    RETURN_IF_ERROR(PlaceExpression(value.get(), symbols, false));
  }
  RETURN_IF_ERROR(PlaceBody(with.body, inner, false));
  with.scope = inner.MakeScope();
  return absl::OkStatus();
}

// A block whose text is captured and filtered.
absl::Status Placer::PlaceCaptured(Statement& block, const Symbols& symbols, bool is_conditional) {
  Symbols inner(&symbols);
  NameCollector collector(inner, work_);
  collector.Visit(block.body);
  collector.Load(block.expression);
  RETURN_IF_ERROR(PlaceBody(block.body, inner, false));
  RETURN_IF_ERROR(PlaceExpression(block.expression.get(), inner, is_conditional));
  block.scope = inner.MakeScope();
  return absl::OkStatus();
}

absl::Status Placer::Place(Statement& statement, const Symbols& symbols, bool is_conditional) {
  switch (statement.kind) {
    case Statement::Kind::kOutput:
      return PlaceExpression(statement.expression.get(), symbols, is_conditional);
    case Statement::Kind::kSet:
      RETURN_IF_ERROR(PlaceTarget(*statement.target, symbols));
      return PlaceExpression(statement.expression.get(), symbols, is_conditional);
    case Statement::Kind::kSetBlock:
      RETURN_IF_ERROR(PlaceTarget(*statement.target, symbols));
      return PlaceCaptured(statement, symbols, false);
    case Statement::Kind::kFilterBlock:
      return PlaceCaptured(statement, symbols, false);
    case Statement::Kind::kIf:
      for (Statement::Branch& branch : statement.branches) {
        RETURN_IF_ERROR(PlaceExpression(branch.condition.get(), symbols, true));
        RETURN_IF_ERROR(PlaceBody(branch.body, symbols, true));
      }
      return absl::OkStatus();
    case Statement::Kind::kFor:
      return PlaceFor(statement, symbols);
    case Statement::Kind::kMacro:
      if (const absl::optional<VariablePlace> place = symbols.Find(statement.name)) {
        statement.place = *place;
      } else {
        return ErrorAt(statement.line, "too many conditions and variables");
      }
      return PlaceFunction(statement, symbols);
    case Statement::Kind::kCallBlock:
      RETURN_IF_ERROR(PlaceExpression(statement.expression.get(), symbols, is_conditional));
      return PlaceFunction(statement, symbols);
    case Statement::Kind::kGeneration:
      return PlaceFunction(statement, symbols);
    case Statement::Kind::kWith:
      return PlaceWith(statement, symbols);
    default:
      return absl::OkStatus();
  }
}

absl::Status Placer::PlaceBody(Body& body, const Symbols& symbols, bool is_conditional) {
  for (const auto& statement : body) {
    if (work_ > kMaxWork) return ErrorAt(statement->line, "too many conditions and variables");
    RETURN_IF_ERROR(Place(*statement, symbols, is_conditional));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status PlaceVariables(ParsedTemplate& parsed) {
  Symbols symbols(nullptr);
  int64_t work = 0;
  NameCollector(symbols, work).Visit(parsed.body);
  RETURN_IF_ERROR(Placer(work).PlaceBody(parsed.body, symbols, false));
  parsed.scope = symbols.MakeScope();
  return absl::OkStatus();
}

}  // namespace strata::jinja
