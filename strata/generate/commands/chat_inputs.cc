#include "strata/generate/commands/chat_inputs.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"
#include "strata/core/error.h"
#include "strata/core/status_macros.h"
#include "strata/generate/commands/text_input.h"

namespace strata {
namespace {

using Json = nlohmann::ordered_json;

// Discarded JSON for what is none.
Json ParseJson(absl::string_view text) {
  return Json::parse(text.begin(), text.end(), /*cb=*/nullptr, /*allow_exceptions=*/false);
}

absl::StatusOr<Json> ReadTools(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  Json tools = ParseJson(text);
  const auto is_object = [](const Json& tool) { return tool.is_object(); };
  if (!tools.is_array() || !std::all_of(tools.begin(), tools.end(), is_object)) {
    return InputError("chat_tools", path, "not a JSON array of objects, each a tool");
  }
  RETURN_IF_ERROR(WithFile(ChatFormat::Check({.tools = tools}), path));
  return tools;
}

absl::StatusOr<ChatFormat::Variables> ReadVariables(const ChatOptions& options) {
  ChatFormat::Variables variables;
  if (!options.tools_file.empty()) {
    ASSIGN_OR_RETURN(variables.tools, ReadTools(options.tools_file));
  }
  if (!options.template_arguments.empty()) {
    variables.arguments = ParseJson(options.template_arguments);
    if (!variables.arguments.is_object()) {
      return UsageError(
          absl::StrCat("--template_args is no JSON object: ", options.template_arguments));
    }
  }
  RETURN_IF_ERROR(ChatFormat::Check({.arguments = variables.arguments}));
  return variables;
}

// Nothing for the model's own.
absl::StatusOr<std::optional<PromptTemplate>> ReadTemplate(const ChatOptions& options) {
  if (!options.format.empty()) return PromptTemplate::Named(options.format);
  if (options.template_file.empty()) return std::nullopt;
  ASSIGN_OR_RETURN(const std::string source, ReadText(options.template_file));
  return PromptTemplate::Parse(source, options.template_file);
}

}  // namespace

absl::StatusOr<ChatInputs> ChatInputs::Read(const ChatOptions& options) {
  ChatInputs inputs = {.system = options.system};
  ASSIGN_OR_RETURN(inputs.variables, ReadVariables(options));
  ASSIGN_OR_RETURN(inputs.prompt_template, ReadTemplate(options));
  return inputs;
}

}  // namespace strata
