// What a conversation with a model is to be like.
#ifndef STRATA_GENERATE_COMMANDS_CHAT_OPTIONS_H_
#define STRATA_GENERATE_COMMANDS_CHAT_OPTIONS_H_

#include <string>

namespace strata {

struct ChatOptions {
  std::string system;              // A system message before the first; empty: none of ours.
  std::string format;              // A NamedFormat; empty: no.
  std::string template_file;       // A path; empty: no. Without both: the model's own template.
  std::string template_arguments;  // JSON; empty: none.
  std::string tools_file;          // A path to JSON; empty: none.
  bool shows_prompt = false;
};

}  // namespace strata

#endif  // STRATA_GENERATE_COMMANDS_CHAT_OPTIONS_H_
