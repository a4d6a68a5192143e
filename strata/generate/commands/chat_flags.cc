#include "strata/generate/commands/chat_flags.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gflags/gflags.h"
#include "strata/core/error.h"

DEFINE_bool(chat, false,
            "The prompt is a message to the model, which answers it. Without a prompt: a "
            "conversation, each line that is typed a message.");
DEFINE_string(system, "", "With --chat: a system message before the first.");
DEFINE_string(chat_template, "",
              "With --chat: a file with the chat template to run (Jinja), instead of the model's.");
DEFINE_string(chat_format, "",
              "With --chat: a known format by its name, like chatml, instead of the model's chat "
              "template.");
DEFINE_string(template_args, "",
              "With --chat: a JSON object of variables for the chat template, like "
              "{\"enable_thinking\": false}.");
DEFINE_string(tools, "",
              "With --chat: a file with the tools that the model is told of: a JSON array of "
              "function descriptions.");
DEFINE_bool(show_prompt, false,
            "With --chat: print the prompt as text; in place of an answer to --prompt, and on "
            "stderr before each answer of a conversation.");

namespace strata {

absl::StatusOr<std::optional<ChatOptions>> ChatOptionsFromFlags() {
  if (!FLAGS_chat) {
    for (const char* flag :
         {"system", "chat_template", "chat_format", "template_args", "tools", "show_prompt"}) {
      if (!gflags::GetCommandLineFlagInfoOrDie(flag).is_default) {
        return UsageError(absl::StrCat("--", flag, " goes with --chat"));
      }
    }
    return std::optional<ChatOptions>();
  }
  if (!FLAGS_chat_template.empty() && !FLAGS_chat_format.empty()) {
    return UsageError("--chat_template and --chat_format exclude each other");
  }
  return ChatOptions{.system = FLAGS_system,
                     .format = FLAGS_chat_format,
                     .template_file = FLAGS_chat_template,
                     .template_arguments = FLAGS_template_args,
                     .tools_file = FLAGS_tools,
                     .shows_prompt = FLAGS_show_prompt};
}

}  // namespace strata
