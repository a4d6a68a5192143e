// A macro of a template, with the variables around it.
#ifndef STRATA_GENERATE_CHAT_JINJA_MACRO_OBJECT_H_
#define STRATA_GENERATE_CHAT_JINJA_MACRO_OBJECT_H_

#include <memory>
#include <string>
#include <vector>

#include "strata/generate/chat/jinja/runtime_objects.h"
#include "strata/generate/chat/jinja/value.h"

namespace strata::jinja {

struct Statement;

// The variables of one scope while it runs.
struct Frame {
  Frame(std::shared_ptr<Frame> parent, size_t num_variables)
      : parent(std::move(parent)), variables(num_variables) {}

  const std::shared_ptr<Frame> parent;
  std::vector<Value> variables;  // Missing where not set.
};

struct MacroObject {
  std::string name;  // Empty for the body of a call block.
  std::vector<std::string> parameters;
  bool takes_caller = false;
  bool takes_kwargs = false;
  bool takes_varargs = false;
  const Statement* definition = nullptr;  // Of the template, which outlives the run.
  std::shared_ptr<Frame> frame;           // Where it was defined.
};

using MacroReference = HeapReference<MacroObject>;

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_MACRO_OBJECT_H_
