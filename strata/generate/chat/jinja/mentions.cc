#include "strata/generate/chat/jinja/mentions.h"

#include <algorithm>

namespace strata::jinja {
namespace {

// In the order in which Jinja goes through a template.
class MentionFinder {
 public:
  explicit MentionFinder(absl::string_view name) : name_(name) {}

  void Visit(const Body& body) {
    for (const auto& statement : body) {
      if (!is_over_) Visit(*statement);
    }
  }
  bool is_mentioned() const { return is_mentioned_; }

 private:
  void Visit(const Statement& statement);
  void Read(const ExpressionPtr& expression);
  void Set(const ExpressionPtr& target);

  const absl::string_view name_;
  bool is_mentioned_ = false;
  bool is_over_ = false;  // It is read or set.
};

void MentionFinder::Read(const ExpressionPtr& expression) {
  if (expression == nullptr || is_over_) return;
  ForEachExpression(*expression, [this](const Expression& part) {
    if (part.kind == Expression::Kind::kName && part.name == name_) {
      is_mentioned_ = is_over_ = true;
    }
  });
}

void MentionFinder::Set(const ExpressionPtr& target) {
  if (target == nullptr || is_over_) return;
  ForEachExpression(*target, [this](const Expression& part) {
    if (part.kind == Expression::Kind::kName && part.name == name_) is_over_ = true;
  });
}

void MentionFinder::Visit(const Statement& statement) {
  const bool filters_last = statement.kind == Statement::Kind::kFilterBlock;
  Set(statement.target);
  for (const ExpressionPtr& target : statement.targets) Set(target);
  if (!filters_last) Read(statement.expression);
  if (!is_over_ && std::find(statement.parameters.begin(), statement.parameters.end(), name_) !=
                       statement.parameters.end()) {
    is_over_ = true;
  }
  for (const ExpressionPtr& value : statement.defaults) Read(value);
  for (const Statement::Branch& branch : statement.branches) {
    Read(branch.condition);
    Visit(branch.body);
  }
  Visit(statement.body);
  Visit(statement.otherwise);
  if (filters_last) Read(statement.expression);
  Read(statement.condition);
}

}  // namespace

void ForEachExpression(const Expression& expression,
                       const std::function<void(const Expression&)>& visit) {
  visit(expression);
  for (const ExpressionPtr& operand : expression.operands) {
    if (operand != nullptr) ForEachExpression(*operand, visit);
  }
  const ArgumentList& arguments = expression.arguments;
  for (const ExpressionPtr& argument : arguments.positional) ForEachExpression(*argument, visit);
  for (const auto& argument : arguments.named) ForEachExpression(*argument.second, visit);
  if (arguments.more_positional != nullptr) ForEachExpression(*arguments.more_positional, visit);
  if (arguments.more_named != nullptr) ForEachExpression(*arguments.more_named, visit);
}

bool Mentions(const Body& body, absl::string_view name) {
  MentionFinder finder(name);
  finder.Visit(body);
  return finder.is_mentioned();
}

}  // namespace strata::jinja
