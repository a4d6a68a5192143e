#include <algorithm>
#include <array>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "strata/core/status_macros.h"
#include "strata/core/utf8.h"
#include "strata/generate/chat/jinja/compare.h"
#include "strata/generate/chat/jinja/cursor.h"
#include "strata/generate/chat/jinja/interpreter.h"
#include "strata/generate/chat/jinja/loop_object.h"
#include "strata/generate/chat/jinja/methods.h"
#include "strata/generate/chat/jinja/python_text.h"

namespace strata::jinja {
namespace {

constexpr int64_t kMaxRange = 100'000;  // The sandbox refuses longer ones.

// What a template's environment has besides its context.
constexpr std::pair<absl::string_view, Function> kFunctions[] = {
    {"range", Function::kRange},
    {"dict", Function::kDict},
    {"namespace", Function::kNamespace},
    {"cycler", Function::kCycler},
    {"joiner", Function::kJoiner},
    {"raise_exception", Function::kRaiseException},
    {"strftime_now", Function::kStrftimeNow},
};

absl::StatusOr<Value> MakeRange(const Arguments& arguments) {
  const std::vector<Value>& values = arguments.positional;
  if (values.empty() || values.size() > 3 || !arguments.named.empty()) {
    return absl::InvalidArgumentError("range wants one to three numbers");
  }
  for (const Value& value : values) {
    if (value.IsUndefined()) return absl::InvalidArgumentError(value.undefined_message());
    if (!value.IsIntegral()) return absl::InvalidArgumentError("range wants integers");
  }
  const int64_t start = values.size() == 1 ? 0 : values[0].int_value();
  const int64_t stop = values[values.size() == 1 ? 0 : 1].int_value();
  const int64_t step = values.size() == 3 ? values[2].int_value() : 1;
  if (step == 0) return absl::InvalidArgumentError("range's step is 0");
  auto range = std::make_shared<RangeObject>(start, stop, step);
  if (range->size() > kMaxRange) {
    return absl::InvalidArgumentError(absl::StrCat("a range of more than ", kMaxRange));
  }
  return Value::OfObject(Value::Kind::kRange, std::move(range));
}

// dict(pairs or a dict, name=value, ...).
absl::StatusOr<Dict> MakeDict(const Arguments& arguments, Budget& budget) {
  if (arguments.positional.size() > 1) {
    return absl::InvalidArgumentError("dict wants at most one positional argument");
  }
  Dict dict;
  if (!arguments.positional.empty()) {
    const Value& source = arguments.positional[0];
    if (source.Is(Value::Kind::kDict)) {
      dict = source.dict();
    } else {
      ASSIGN_OR_RETURN(const std::vector<Value> pairs, ItemsOf(source, budget));
      for (const Value& pair : pairs) {
        ASSIGN_OR_RETURN(const std::vector<Value> parts, ItemsOf(pair, budget));
        std::string text;
        if (parts.size() != 2 || !HashText(parts[0], text)) {
          return absl::InvalidArgumentError("dict wants pairs of a key and a value");
        }
        dict.Set(parts[0], parts[1]);
      }
    }
  }
  for (const auto& [name, value] : arguments.named) {
    dict.Set(Value::String(name, arguments.names_are_content), value);
  }
  return dict;
}

}  // namespace

Value Interpreter::Resolve(const std::string& name) const {
  if (const Value* const value = context_.dict().Find(name)) return *value;
  for (const auto& [function_name, function] : kFunctions) {
    if (function_name == name) {
      return Value::OfObject(Value::Kind::kFunction, std::make_shared<FunctionObject>(function));
    }
  }
  return Value();
}

Value Interpreter::MakeMacro(const Statement& definition, const FramePtr& frame) {
  budget_.Take(sizeof(MacroObject));
  MacroObject& macro = macros_.emplace_back();
  macro.name = definition.name;
  macro.parameters = definition.parameters;
  macro.takes_caller = definition.takes_caller;
  macro.takes_kwargs = definition.takes_kwargs;
  macro.takes_varargs = definition.takes_varargs;
  macro.definition = &definition;
  macro.frame = frame;
  return Value::OfObject(Value::Kind::kMacro, std::make_shared<MacroReference>(macro));
}

absl::StatusOr<Value> Interpreter::EvaluateCall(const Expression& call, const Value& caller,
                                                const FramePtr& frame) {
  ASSIGN_OR_RETURN(const Value callee, Evaluate(*call.operands[0], frame));
  ASSIGN_OR_RETURN(Arguments arguments, EvaluateArguments(call.arguments, frame));
  if (!caller.IsMissing()) {
    for (const auto& argument : arguments.named) {
      if (argument.first == "caller") {
        return absl::InvalidArgumentError("a call block gives 'caller' itself");
      }
    }
    arguments.named.emplace_back("caller", caller);
  }
  return Call(callee, arguments);
}

absl::StatusOr<Value> Interpreter::Call(const Value& callee, const Arguments& arguments) {
  switch (callee.kind()) {
    case Value::Kind::kUndefined:
      return absl::InvalidArgumentError(callee.undefined_message());
    case Value::Kind::kFunction:
      return CallFunction(callee.object<FunctionObject>().function, arguments);
    case Value::Kind::kMethod: {
      const MethodObject& method = callee.object<MethodObject>();
      return CallMethod(method.self, method.name, arguments, budget_);
    }
    case Value::Kind::kMacro:
      return CallMacro(callee.object<MacroReference>().target, arguments);
    case Value::Kind::kLoop: {
      const LoopObject& loop = callee.object<LoopObject>();
      if (!loop.recurse()) return absl::InvalidArgumentError("the loop is not recursive");
      ASSIGN_OR_RETURN(const std::vector<Value> bound, Bind("loop", arguments, {"iterable"}, 1));
      const LoopObject::Recurse recurse = loop.recurse();
      return recurse(bound[0], loop.depth0() + 1);
    }
    case Value::Kind::kJoiner: {
      if (!arguments.empty()) return absl::InvalidArgumentError("a joiner takes no arguments");
      JoinerObject& joiner = callee.object<JoinerObject>();
      return std::exchange(joiner.is_used, true) ? joiner.separator : Value::String("");
    }
    default:
      return absl::InvalidArgumentError(absl::StrCat("a ", TypeName(callee), " cannot be called"));
  }
}

absl::StatusOr<Value> Interpreter::CallFunction(Function function, const Arguments& arguments) {
  switch (function) {
    case Function::kRange:
      return MakeRange(arguments);
    case Function::kDict: {
      ASSIGN_OR_RETURN(Dict dict, MakeDict(arguments, budget_));
      return Value::DictOf(std::move(dict), &budget_);
    }
    case Function::kNamespace:
      return MakeNamespace(arguments);
    case Function::kCycler:
      if (arguments.positional.empty() || !arguments.named.empty()) {
        return absl::InvalidArgumentError("cycler wants one value or more");
      }
      return Value::OfObject(Value::Kind::kCycler, std::make_shared<CyclerObject>(Value::Tuple(
                                                       arguments.positional, &budget_)));
    case Function::kJoiner: {
      ASSIGN_OR_RETURN(const std::vector<Value> bound, Bind("joiner", arguments, {"sep"}));
      const Value separator = bound[0].IsMissing() ? Value::String(", ") : bound[0];
      return Value::OfObject(Value::Kind::kJoiner,
                             std::make_shared<JoinerObject>(separator, &budget_));
    }
    case Function::kRaiseException: {
      ASSIGN_OR_RETURN(const std::vector<Value> bound,
                       Bind("raise_exception", arguments, {"message"}, 1));
      ASSIGN_OR_RETURN(const MarkedText message, TextOf(bound[0], budget_));
      return absl::FailedPreconditionError(message.text());
    }
    case Function::kStrftimeNow:
      return FormatNow(arguments);
  }
  return Value();
}

absl::StatusOr<Value> Interpreter::MakeNamespace(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Dict dict, MakeDict(arguments, budget_));
  budget_.Take(static_cast<int64_t>(sizeof(NamespaceObject) + dict.size() * 2 * sizeof(Value)));
  NamespaceObject& space = namespaces_.emplace_back();
  for (const auto& [key, value] : dict.entries()) {
    budget_.HandleItems(static_cast<int64_t>(space.attributes.size()));
    if (!budget_.ok()) return budget_.status();
    if (!key.IsString()) continue;
    space.names_are_content = space.names_are_content || key.HasContent();
    space.Set(key.text(), value);
  }
  return Value::OfObject(Value::Kind::kNamespace, std::make_shared<NamespaceReference>(space));
}

absl::StatusOr<Value> Interpreter::FormatNow(const Arguments& arguments) const {
  ASSIGN_OR_RETURN(const std::vector<Value> bound, Bind("strftime_now", arguments, {"format"}, 1));
  if (!bound[0].IsString()) return absl::InvalidArgumentError("strftime_now wants a format");
  // The zone makes no difference: the time is one of the calendar and the clock already.
  const absl::TimeZone zone = absl::UTCTimeZone();
  const std::tm now = absl::ToTM(absl::FromCivil(now_, zone), zone);
  // An empty result looks like one that does not fit, so a space comes first.
  const std::string format = absl::StrCat(" ", bound[0].text());
  std::array<char, 4096> text;
  const size_t size = std::strftime(text.data(), text.size(), format.c_str(), &now);
  if (size == 0) return absl::InvalidArgumentError("strftime_now: the date is too long");
  return Value::String(absl::string_view(text.data() + 1, size - 1), bound[0].HasContent());
}

absl::Status Interpreter::BindMacro(const MacroObject& macro, const Arguments& arguments,
                                    Frame& frame) {
  const std::vector<int>& places = macro.definition->parameter_places;
  const auto variable = [&](size_t i) -> Value& {
    return frame.variables[static_cast<size_t>(places[i])];
  };
  const size_t num_parameters = macro.parameters.size();
  const std::vector<Value>& positional = arguments.positional;
  const size_t num_direct = std::min(positional.size(), num_parameters);
  for (size_t i = 0; i < num_direct; ++i) variable(i) = positional[i];
  std::vector<std::pair<std::string, Value>> named = arguments.named;
  const auto take = [&](const std::string& name) {
    const auto found = std::find_if(named.begin(), named.end(),
                                    [&](const auto& argument) { return argument.first == name; });
    if (found == named.end()) return Value();
    Value value = found->second;
    named.erase(found);
    return value;
  };
  for (size_t i = num_direct; i < num_parameters; ++i) variable(i) = take(macro.parameters[i]);
  size_t next = num_parameters;
  if (macro.takes_caller) {
    Value caller = take("caller");
    variable(next++) = caller.IsMissing() || caller.IsNone()
                           ? Value::Undefined("no caller is defined")
                           : std::move(caller);
  }
  if (macro.takes_kwargs) {
    Dict kwargs;
    for (auto& [name, value] : named) {
      kwargs.Set(Value::String(name, arguments.names_are_content), std::move(value));
    }
    variable(next++) = Value::DictOf(std::move(kwargs), &budget_);
  } else if (!named.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("macro '", macro.name, "' has no parameter '", named[0].first, "'"));
  }
  if (macro.takes_varargs) {
    variable(next++) = Value::Tuple(
        {positional.begin() + static_cast<ptrdiff_t>(num_direct), positional.end()}, &budget_);
  } else if (positional.size() > num_parameters) {
    return absl::InvalidArgumentError(
        absl::StrCat("macro '", macro.name, "' takes at most ", num_parameters, " arguments"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Value> Interpreter::CallMacro(const MacroObject& macro, const Arguments& arguments) {
  const Statement& definition = *macro.definition;
  const int line = line_;
  auto frame = std::make_shared<Frame>(macro.frame, definition.scope.entries.size());
  RETURN_IF_ERROR(BindMacro(macro, arguments, *frame));
  RETURN_IF_ERROR(EnterScope(definition.scope, *frame));
  const size_t first_default = definition.parameters.size() - definition.defaults.size();
  for (size_t i = 0; i < definition.parameters.size(); ++i) {
    Value& parameter = frame->variables[static_cast<size_t>(definition.parameter_places[i])];
    if (!parameter.IsMissing()) continue;
    if (i < first_default) {
      parameter = Value::Undefined(
          absl::StrCat("parameter '", definition.parameters[i], "' was not provided"));
    } else {
      ASSIGN_OR_RETURN(parameter, Evaluate(*definition.defaults[i - first_default], frame));
    }
  }
  Buffer text(*this);
  RETURN_IF_ERROR(RunBody(definition.body, frame).status());
  line_ = line;
  return Value::String(text.text(), &budget_);
}

}  // namespace strata::jinja
