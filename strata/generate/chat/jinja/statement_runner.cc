#include <memory>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "strata/core/status_macros.h"
#include "strata/generate/chat/jinja/attribute_path.h"
#include "strata/generate/chat/jinja/compare.h"
#include "strata/generate/chat/jinja/cursor.h"
#include "strata/generate/chat/jinja/interpreter.h"
#include "strata/generate/chat/jinja/loop_object.h"
#include "strata/generate/chat/jinja/python_text.h"

namespace strata::jinja {
namespace {

Frame& FrameAt(Frame& frame, int hops) {
  Frame* at = &frame;
  for (; hops > 0; --hops) at = at->parent.get();
  return *at;
}

Value& VariableAt(Frame& frame, const VariablePlace& place) {
  return FrameAt(frame, place.hops).variables[static_cast<size_t>(place.index)];
}

}  // namespace

Interpreter::Interpreter(const ParsedTemplate& parsed, const Value& context, absl::CivilSecond now,
                         Budget& budget)
    : parsed_(parsed), context_(context), now_(now), budget_(budget) {}

Interpreter::~Interpreter() {
  // What may refer to itself lets go.
  for (MacroObject& macro : macros_) macro.frame.reset();
  for (NamespaceObject& space : namespaces_) space.attributes.clear();
}

absl::StatusOr<MarkedText> Interpreter::Run() {
  Buffer prompt(*this);
  auto frame = std::make_shared<Frame>(nullptr, parsed_.scope.entries.size());
  absl::Status status = EnterScope(parsed_.scope, *frame);
  if (status.ok()) status = RunBody(parsed_.body, frame).status();
  if (status.ok()) return prompt.text();
  if (absl::IsFailedPrecondition(status)) return status;
  return absl::Status(status.code(), absl::StrCat("line ", line_, ": ", status.message()));
}

absl::Status Interpreter::EnterScope(const Scope& scope, Frame& frame) {
  for (size_t i = 0; i < scope.entries.size(); ++i) {
    if (!budget_.Step()) return budget_.status();
    const ScopeEntry& entry = scope.entries[i];
    switch (entry.kind) {
      case ScopeEntry::Kind::kParameter:
        break;
      case ScopeEntry::Kind::kResolve:
        frame.variables[i] = Resolve(entry.name);
        break;
      case ScopeEntry::Kind::kAlias:
        frame.variables[i] = VariableAt(frame, entry.place);
        break;
      case ScopeEntry::Kind::kMissing:
        frame.variables[i] = Value();
        break;
    }
  }
  return absl::OkStatus();
}

absl::Status Interpreter::Write(const MarkedText& text) {
  buffer_->Append(text);
  if (static_cast<int64_t>(buffer_->text().size()) > budget_.limits().max_output_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("the template writes more than ",
                                                     budget_.limits().max_output_bytes, " bytes"));
  }
  return budget_.status();
}

absl::Status Interpreter::Assign(const Expression& target, const Value& value,
                                 const FramePtr& frame) {
  if (target.kind == Expression::Kind::kName) {
    VariableAt(*frame, target.place) = value;
    return absl::OkStatus();
  }
  if (target.kind == Expression::Kind::kNamespaceRef) {
    const Value& space = VariableAt(*frame, target.place);
    if (!space.Is(Value::Kind::kNamespace)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", target.variable, "' is no namespace: its attributes cannot be set"));
    }
    space.object<NamespaceReference>().target.Set(target.name, value);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::vector<Value> items, ItemsOf(value, budget_));
  if (items.size() != target.operands.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(items.size(), " values for ", target.operands.size(), " variables"));
  }
  for (size_t i = 0; i < items.size(); ++i) {
    RETURN_IF_ERROR(Assign(*target.operands[i], items[i], frame));
  }
  return absl::OkStatus();
}

absl::StatusOr<Interpreter::Flow> Interpreter::RunBody(const Body& body, const FramePtr& frame) {
  const absl::Cleanup leave = [this] { budget_.Leave(); };
  if (!budget_.Enter()) return budget_.status();
  for (const auto& statement : body) {
    if (!budget_.Step()) return budget_.status();
    line_ = statement->line;
    ASSIGN_OR_RETURN(const Flow flow, RunStatement(*statement, frame));
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

absl::StatusOr<Interpreter::Flow> Interpreter::RunStatement(const Statement& statement,
                                                            const FramePtr& frame) {
  switch (statement.kind) {
    case Statement::Kind::kText:
      RETURN_IF_ERROR(Write(statement.text.marked_text()));
      return Flow::kNext;
    case Statement::Kind::kOutput:
      RETURN_IF_ERROR(RunOutput(statement, frame));
      return Flow::kNext;
    case Statement::Kind::kSet: {
      ASSIGN_OR_RETURN(const Value value, Evaluate(*statement.expression, frame));
      RETURN_IF_ERROR(Assign(*statement.target, value, frame));
      return Flow::kNext;
    }
    case Statement::Kind::kSetBlock:
      return RunSetBlock(statement, frame);
    case Statement::Kind::kIf:
      return RunIf(statement, frame);
    case Statement::Kind::kFor:
      return RunFor(statement, frame);
    case Statement::Kind::kMacro:
      VariableAt(*frame, statement.place) = MakeMacro(statement, frame);
      return Flow::kNext;
    case Statement::Kind::kCallBlock:
      RETURN_IF_ERROR(RunCallBlock(statement, frame));
      return Flow::kNext;
    case Statement::Kind::kFilterBlock:
      return RunFilterBlock(statement, frame);
    case Statement::Kind::kGeneration:
      RETURN_IF_ERROR(RunGeneration(statement, frame));
      return Flow::kNext;
    case Statement::Kind::kWith:
      return RunWith(statement, frame);
    case Statement::Kind::kBreak:
      return Flow::kBreak;
    case Statement::Kind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kNext;
}

absl::Status Interpreter::RunOutput(const Statement& statement, const FramePtr& frame) {
  ASSIGN_OR_RETURN(const Value value, Evaluate(*statement.expression, frame));
  if (value.IsString()) return Write(value.marked_text());
  ASSIGN_OR_RETURN(const MarkedText text, TextOf(value, budget_));
  return Write(text);
}

absl::StatusOr<Interpreter::Flow> Interpreter::RunIf(const Statement& statement,
                                                     const FramePtr& frame) {
  for (const Statement::Branch& branch : statement.branches) {
    if (branch.condition != nullptr) {
      ASSIGN_OR_RETURN(const Value condition, Evaluate(*branch.condition, frame));
      if (!IsTrue(condition)) continue;
    }
    return RunBody(branch.body, frame);
  }
  return Flow::kNext;
}

absl::StatusOr<Interpreter::Flow> Interpreter::RunSetBlock(const Statement& statement,
                                                           const FramePtr& frame) {
  auto inner = std::make_shared<Frame>(frame, statement.scope.entries.size());
  RETURN_IF_ERROR(EnterScope(statement.scope, *inner));
  Value value;
  {
    Buffer block(*this);
    ASSIGN_OR_RETURN(const Flow flow, RunBody(statement.body, inner));
    if (flow != Flow::kNext) return flow;
    if (statement.expression != nullptr) {
      const MarkedText* const outer = std::exchange(filtered_, &block.text());
      absl::StatusOr<Value> filtered = Evaluate(*statement.expression, inner);
      filtered_ = outer;
      ASSIGN_OR_RETURN(value, std::move(filtered));
    } else {
      value = Value::String(block.text(), &budget_);
    }
  }
  RETURN_IF_ERROR(Assign(*statement.target, value, frame));
  return Flow::kNext;
}

absl::StatusOr<Interpreter::Flow> Interpreter::RunFilterBlock(const Statement& statement,
                                                              const FramePtr& frame) {
  auto inner = std::make_shared<Frame>(frame, statement.scope.entries.size());
  RETURN_IF_ERROR(EnterScope(statement.scope, *inner));
  Value value;
  {
    Buffer block(*this);
    ASSIGN_OR_RETURN(const Flow flow, RunBody(statement.body, inner));
    if (flow != Flow::kNext) return flow;
    const MarkedText* const outer = std::exchange(filtered_, &block.text());
    absl::StatusOr<Value> filtered = Evaluate(*statement.expression, inner);
    filtered_ = outer;
    ASSIGN_OR_RETURN(value, std::move(filtered));
  }
  ASSIGN_OR_RETURN(const MarkedText text, TextOf(value, budget_));
  RETURN_IF_ERROR(Write(text));
  return Flow::kNext;
}

absl::StatusOr<Interpreter::Flow> Interpreter::RunWith(const Statement& statement,
                                                       const FramePtr& frame) {
  auto inner = std::make_shared<Frame>(frame, statement.scope.entries.size());
  RETURN_IF_ERROR(EnterScope(statement.scope, *inner));
  for (size_t i = 0; i < statement.targets.size(); ++i) {
    ASSIGN_OR_RETURN(const Value value, Evaluate(*statement.defaults[i], frame));
    RETURN_IF_ERROR(Assign(*statement.targets[i], value, inner));
  }
  return RunBody(statement.body, inner);
}

absl::Status Interpreter::RunCallBlock(const Statement& statement, const FramePtr& frame) {
  const Value caller = MakeMacro(statement, frame);
  ASSIGN_OR_RETURN(const Value value, EvaluateCall(*statement.expression, caller, frame));
  ASSIGN_OR_RETURN(const MarkedText text, TextOf(value, budget_));
  return Write(text);
}

absl::Status Interpreter::RunGeneration(const Statement& statement, const FramePtr& frame) {
  auto inner = std::make_shared<Frame>(frame, statement.scope.entries.size());
  RETURN_IF_ERROR(EnterScope(statement.scope, *inner));
  return RunBody(statement.body, inner).status();
}

absl::StatusOr<Interpreter::Flow> Interpreter::RunFor(const Statement& loop,
                                                      const FramePtr& frame) {
  ASSIGN_OR_RETURN(const Value items, Evaluate(*loop.expression, frame));
  if (!loop.is_recursive) return RunLoop(loop, items, 0, frame);
  ASSIGN_OR_RETURN(const Value text, RunLoopCaptured(loop, items, 0, frame));
  RETURN_IF_ERROR(Write(text.marked_text()));
  return Flow::kNext;
}

absl::StatusOr<Value> Interpreter::RunLoopCaptured(const Statement& loop, const Value& items,
                                                   int depth0, const FramePtr& frame) {
  Buffer captured(*this);
  RETURN_IF_ERROR(RunLoop(loop, items, depth0, frame).status());
  return Value::String(captured.text(), &budget_);
}

absl::StatusOr<Value> Interpreter::SelectItems(const Statement& loop, const Value& items,
                                               const FramePtr& frame) {
  auto inner = std::make_shared<Frame>(frame, loop.condition_scope.entries.size());
  RETURN_IF_ERROR(EnterScope(loop.condition_scope, *inner));
  ASSIGN_OR_RETURN(Cursor cursor, Cursor::Over(items, budget_));
  // Item by item, since what the body does to a namespace may change the condition.
  Value selected = IteratorOver({}, absl::OkStatus(), budget_);
  selected.object<IteratorObject>().find = [this, &loop, inner,
                                            cursor]() mutable -> absl::StatusOr<Value> {
    while (true) {
      ASSIGN_OR_RETURN(Value item, cursor.Next());
      if (item.IsMissing()) return item;
      RETURN_IF_ERROR(Assign(*loop.condition_target, item, inner));
      ASSIGN_OR_RETURN(const Value fits, Evaluate(*loop.condition, inner));
      if (IsTrue(fits)) return item;
    }
  };
  return selected;
}

absl::StatusOr<Interpreter::Flow> Interpreter::RunLoop(const Statement& loop, const Value& items,
                                                       int depth0, const FramePtr& frame) {
  Value selected = items;
  if (loop.condition != nullptr) {
    ASSIGN_OR_RETURN(selected, SelectItems(loop, items, frame));
  }
  const absl::Cleanup end = [&] {
    // Nothing is looked for once the loop is over: the condition's variables can go.
    if (loop.condition != nullptr) selected.object<IteratorObject>().find = nullptr;
  };
  bool ran_any = false;
  ASSIGN_OR_RETURN(const Flow flow, RunItems(loop, selected, depth0, frame, ran_any));
  if (flow != Flow::kNext || ran_any || loop.otherwise.empty()) return flow;
  auto inner = std::make_shared<Frame>(frame, loop.otherwise_scope.entries.size());
  RETURN_IF_ERROR(EnterScope(loop.otherwise_scope, *inner));
  return RunBody(loop.otherwise, inner);
}

absl::StatusOr<Interpreter::Flow> Interpreter::RunItems(const Statement& loop, const Value& items,
                                                        int depth0, const FramePtr& frame,
                                                        bool& ran_any) {
  auto inner = std::make_shared<Frame>(frame, loop.scope.entries.size());
  LoopObject::Recurse recurse;
  if (loop.is_recursive) {
    recurse = [this, &loop, frame](const Value& more, int depth) {
      return RunLoopCaptured(loop, more, depth, frame);
    };
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<LoopObject> state,
                   LoopObject::Create(items, depth0, std::move(recurse), budget_));
  const absl::Cleanup end = [&] {
    state->End();
    // Macros defined in the loop see nothing of it afterwards.
    for (Value& variable : inner->variables) variable = Value();
  };
  while (true) {
    ASSIGN_OR_RETURN(const Value item, state->Next());
    if (item.IsMissing()) return Flow::kNext;
    RETURN_IF_ERROR(Assign(*loop.target, item, inner));
    if (loop.uses_loop) {
      VariableAt(*inner, loop.place) = Value::OfObject(Value::Kind::kLoop, state);
    }
    RETURN_IF_ERROR(EnterScope(loop.scope, *inner));
    ASSIGN_OR_RETURN(const Flow flow, RunBody(loop.body, inner));
    // An iteration that is cut short does not count for `else`.
    if (flow == Flow::kNext) ran_any = true;
    if (flow == Flow::kBreak) return Flow::kNext;
  }
}

}  // namespace strata::jinja
