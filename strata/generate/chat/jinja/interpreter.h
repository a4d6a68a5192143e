// Runs a parsed template.
//
// One run is one object. The variables of a scope are in a Frame; macros keep the frames that they
// were defined in. Text goes into the innermost buffer: that of the prompt, or of a block or macro
// whose text becomes a value.
#ifndef STRATA_GENERATE_CHAT_JINJA_INTERPRETER_H_
#define STRATA_GENERATE_CHAT_JINJA_INTERPRETER_H_

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/civil_time.h"
#include "strata/generate/chat/jinja/arguments.h"
#include "strata/generate/chat/jinja/budget.h"
#include "strata/generate/chat/jinja/macro_object.h"
#include "strata/generate/chat/jinja/marked_text.h"
#include "strata/generate/chat/jinja/runtime_objects.h"
#include "strata/generate/chat/jinja/syntax.h"
#include "strata/generate/chat/jinja/value.h"

namespace strata::jinja {

// Used by one thread, for one run. Errors have the line of the statement that they are in; the text
// of raise_exception is a kFailedPrecondition without it.
class Interpreter {
 public:
  // `parsed`, `context`, which is a dict, and `budget` outlive it. `now` is what strftime_now
  // tells.
  Interpreter(const ParsedTemplate& parsed, const Value& context, absl::CivilSecond now,
              Budget& budget);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  absl::StatusOr<MarkedText> Run();

 private:
  enum class Flow { kNext, kBreak, kContinue };
  using FramePtr = std::shared_ptr<Frame>;
  class Buffer;

  // statement_runner.cc
  absl::StatusOr<Flow> RunBody(const Body& body, const FramePtr& frame);
  absl::StatusOr<Flow> RunStatement(const Statement& statement, const FramePtr& frame);
  absl::StatusOr<Flow> RunIf(const Statement& statement, const FramePtr& frame);
  absl::StatusOr<Flow> RunSetBlock(const Statement& statement, const FramePtr& frame);
  absl::StatusOr<Flow> RunFilterBlock(const Statement& statement, const FramePtr& frame);
  absl::StatusOr<Flow> RunWith(const Statement& statement, const FramePtr& frame);
  absl::StatusOr<Flow> RunFor(const Statement& loop, const FramePtr& frame);
  absl::Status RunOutput(const Statement& statement, const FramePtr& frame);
  absl::Status RunCallBlock(const Statement& statement, const FramePtr& frame);
  absl::Status RunGeneration(const Statement& statement, const FramePtr& frame);
  // Over `items`, with what comes after them if there are none.
  absl::StatusOr<Flow> RunLoop(const Statement& loop, const Value& items, int depth0,
                               const FramePtr& frame);
  absl::StatusOr<Flow> RunItems(const Statement& loop, const Value& items, int depth0,
                                const FramePtr& frame, bool& ran_any);
  absl::StatusOr<Value> RunLoopCaptured(const Statement& loop, const Value& items, int depth0,
                                        const FramePtr& frame);
  // The items that the loop's condition lets through.
  absl::StatusOr<Value> SelectItems(const Statement& loop, const Value& items,
                                    const FramePtr& frame);
  absl::Status Write(const MarkedText& text);
  absl::Status EnterScope(const Scope& scope, Frame& frame);
  absl::Status Assign(const Expression& target, const Value& value, const FramePtr& frame);

  // expression_evaluator.cc. Steps and depth are counted in Evaluate.
  absl::StatusOr<Value> Evaluate(const Expression& expression, const FramePtr& frame);
  absl::StatusOr<Value> EvaluateKind(const Expression& expression, const FramePtr& frame);
  absl::StatusOr<Value> EvaluateName(const Expression& expression, const FramePtr& frame);
  absl::StatusOr<Value> EvaluateSequence(const Expression& expression, const FramePtr& frame);
  absl::StatusOr<Value> EvaluateDict(const Expression& expression, const FramePtr& frame);
  absl::StatusOr<Value> EvaluateItem(const Expression& expression, const FramePtr& frame);
  absl::StatusOr<Value> EvaluateSlice(const Expression& expression, const FramePtr& frame);
  absl::StatusOr<Value> EvaluateFilter(const Expression& expression, const FramePtr& frame);
  absl::StatusOr<Value> EvaluateTest(const Expression& expression, const FramePtr& frame);
  absl::StatusOr<Value> EvaluateLogic(const Expression& expression, const FramePtr& frame);
  absl::StatusOr<Value> EvaluateUnary(const Expression& expression, const FramePtr& frame);
  absl::StatusOr<Value> EvaluateBinary(const Expression& expression, const FramePtr& frame);
  absl::StatusOr<Value> EvaluateConcatenation(const Expression& expression, const FramePtr& frame);
  absl::StatusOr<Value> EvaluateComparison(const Expression& expression, const FramePtr& frame);
  absl::StatusOr<Value> EvaluateConditional(const Expression& expression, const FramePtr& frame);
  absl::StatusOr<Arguments> EvaluateArguments(const ArgumentList& list, const FramePtr& frame);

  // calls.cc
  // `caller`, unless it is missing, is given to the callee by that name.
  absl::StatusOr<Value> EvaluateCall(const Expression& call, const Value& caller,
                                     const FramePtr& frame);
  absl::StatusOr<Value> Call(const Value& callee, const Arguments& arguments);
  absl::StatusOr<Value> CallFunction(Function function, const Arguments& arguments);
  absl::StatusOr<Value> CallMacro(const MacroObject& macro, const Arguments& arguments);
  absl::Status BindMacro(const MacroObject& macro, const Arguments& arguments, Frame& frame);
  absl::StatusOr<Value> MakeNamespace(const Arguments& arguments);
  absl::StatusOr<Value> FormatNow(const Arguments& arguments) const;
  Value MakeMacro(const Statement& definition, const FramePtr& frame);
  Value Resolve(const std::string& name) const;

  const ParsedTemplate& parsed_;
  const Value& context_;
  const absl::CivilSecond now_;
  Budget& budget_;
  int line_ = 1;
  Buffer* buffer_ = nullptr;              // The innermost.
  const MarkedText* filtered_ = nullptr;  // What a filter without an operand is applied to.
  std::deque<NamespaceObject> namespaces_;
  std::deque<MacroObject> macros_;
};

// Text that is being written. While it exists it is the innermost one.
class Interpreter::Buffer {
 public:
  explicit Buffer(Interpreter& interpreter)
      : interpreter_(interpreter), outer_(interpreter.buffer_) {
    interpreter.buffer_ = this;
  }
  ~Buffer() {
    interpreter_.buffer_ = outer_;
    interpreter_.budget_.Give(static_cast<int64_t>(taken_));
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void Append(const MarkedText& text) {
    text_.Append(text);
    interpreter_.budget_.Take(static_cast<int64_t>(text_.bytes() - taken_));
    taken_ = text_.bytes();
  }
  const MarkedText& text() const { return text_; }

 private:
  Interpreter& interpreter_;
  Buffer* const outer_;
  MarkedText text_;
  size_t taken_ = 0;  // Of the budget.
};

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_INTERPRETER_H_
