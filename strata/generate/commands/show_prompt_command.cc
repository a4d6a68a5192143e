#include "strata/generate/commands/show_prompt_command.h"

#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/error.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/status_macros.h"
#include "strata/generate/commands/chat_inputs.h"
#include "strata/generate/commands/conversation.h"
#include "strata/generate/commands/text_input.h"
#include "strata/generate/tokenizer/load_tokenizer.h"
#include "strata/generate/tokenizer/tokenizer.h"

namespace strata {

absl::Status ShowPrompt(const GenerateOptions& options) {
  ASSIGN_OR_RETURN(ChatInputs inputs, ChatInputs::Read(*options.chat));
  ASSIGN_OR_RETURN(const std::unique_ptr<GgufFile> file, GgufFile::Open(options.model));
  ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer, LoadTokenizer(*file));
  ASSIGN_OR_RETURN(Conversation conversation,
                   Conversation::Create(*file, *tokenizer, std::move(inputs)));
  absl::StatusOr<std::string> text = options.prompt.value_or("");
  if (options.prompt_file.has_value()) text = ReadPrompt(*options.prompt_file);
  RETURN_IF_ERROR(text.status());
  if (text->empty()) return UsageError("the prompt is empty");
  conversation.AddUser(*std::move(text));
  ASSIGN_OR_RETURN(const Conversation::Prompt prompt, conversation.NextPrompt());
  if (options.json) {
    PrintJson({{"prompt", prompt.Text()}, {"prompt_ids", prompt.ids}});
  } else {
    std::cout << prompt.Text();
  }
  return absl::OkStatus();
}

}  // namespace strata
