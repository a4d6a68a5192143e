// A parsed template: expressions and statements, and the scopes that their variables live in.
#ifndef STRATA_GENERATE_CHAT_JINJA_SYNTAX_H_
#define STRATA_GENERATE_CHAT_JINJA_SYNTAX_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "strata/generate/chat/jinja/operators.h"
#include "strata/generate/chat/jinja/value.h"

namespace strata::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;
struct Statement;
using Body = std::vector<std::unique_ptr<Statement>>;

// Where a variable is: so many scopes outwards, and which of its variables.
struct VariablePlace {
  int hops = 0;
  int index = 0;
};

// What the variables of a scope hold when it is entered.
struct ScopeEntry {
  enum class Kind { kParameter, kResolve, kAlias, kMissing };

  Kind kind = Kind::kMissing;
  std::string name;          // kResolve: what the context calls it.
  VariablePlace place = {};  // kAlias: whose value it starts with.
};

struct Scope {
  std::vector<ScopeEntry> entries;  // One for each variable.
};

// Of a call, a filter or a test.
struct ArgumentList {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr more_positional;  // *list
  ExpressionPtr more_named;       // **dict
};

enum class Comparison {
  kEqual,
  kNotEqual,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
  kIn,
  kNotIn
};

struct Expression {
  enum class Kind {
    kConstant,
    kName,          // `name` at `place`
    kNamespaceRef,  // A target: attribute `name` of the variable `variable` at `place`.
    kTuple,
    kList,
    kDict,       // Operands: key, value, key, value ...
    kAttribute,  // operand.name
    kItem,       // operand[operand]
    kSlice,      // operand[operand:operand:operand], null where left out
    kCall,       // operand(arguments)
    kFilter,     // operand|name(arguments); without an operand: of a block's text
    kTest,       // operand is name(arguments)
    kNot,
    kNegate,
    kPlus,
    kAnd,
    kOr,
    kBinary,       // operand `op` operand
    kConcatenate,  // Any number.
    kCompare,      // operand `comparisons[0]` operand `comparisons[1]` operand ...
    kConditional,  // operand[1] if operand[0] else operand[2], which may be null
  };

  Kind kind;
  int line;
  int depth = 1;  // How many expressions are inside each other.
  Value constant;
  std::string name;
  std::string variable;
  VariablePlace place;
  Operator op = Operator::kAdd;
  std::vector<ExpressionPtr> operands;
  std::vector<Comparison> comparisons;
  ArgumentList arguments;
};

struct Statement {
  enum class Kind {
    kText,    // `text`
    kOutput,  // {{ expression }}
    kSet,     // target = expression
    kSetBlock,
    kIf,  // Branches; the last may have no condition.
    kFor,
    kMacro,
    kCallBlock,  // expression, a call, gets `body` as its caller.
    kFilterBlock,
    kGeneration,  // Only marks what the model writes.
    kWith,
    kBreak,
    kContinue,
  };
  struct Branch {
    ExpressionPtr condition;
    Body body;
  };

  Kind kind;
  int line;
  Value text;
  ExpressionPtr target;
  ExpressionPtr expression;  // kFor: what it goes through. kSetBlock: filters, or null.
  ExpressionPtr condition;   // kFor: which items count, or null.
  bool is_recursive = false;
  bool uses_loop = false;  // kFor: the body mentions `loop`.
  std::vector<Branch> branches;
  Body body;
  Body otherwise;  // kFor

  // kMacro, kCallBlock: parameters with their defaults, those of the last ones. kWith: targets and
  // values. kGeneration has none.
  std::string name;
  std::vector<std::string> parameters;
  std::vector<ExpressionPtr> targets;
  std::vector<ExpressionPtr> defaults;
  bool takes_caller = false;
  bool takes_kwargs = false;
  bool takes_varargs = false;
  // Where in `scope` the parameters are, then caller, kwargs and varargs where they are taken.
  std::vector<int> parameter_places;
  VariablePlace place;  // kMacro: of its name. kFor: of `loop` in `scope`.

  Scope scope;                     // Of the body.
  Scope condition_scope;           // kFor
  Scope otherwise_scope;           // kFor
  ExpressionPtr condition_target;  // kFor: the target in the condition's scope.
};

struct ParsedTemplate {
  Body body;
  Scope scope;
};

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_SYNTAX_H_
