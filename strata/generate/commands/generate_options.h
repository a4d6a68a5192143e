// What `generate` was asked to do, apart from the tokenizer's commands.
#ifndef STRATA_GENERATE_COMMANDS_GENERATE_OPTIONS_H_
#define STRATA_GENERATE_COMMANDS_GENERATE_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "strata/generate/commands/chat_options.h"
#include "strata/generate/loading/text_model.h"
#include "strata/generate/sampling/sampling_request.h"

namespace strata {

struct GenerateOptions {
  std::string model;
  // At most one of the three.
  std::optional<std::string> prompt;
  std::optional<std::string> prompt_file;
  std::optional<std::string> tokens_file;
  bool parse_special = false;  // Texts of control tokens in the prompt are those tokens.

  std::optional<ChatOptions> chat;  // The prompt is a user's message.

  TextModel::Options open;
  SamplingRequest sampling;
  int64_t max_new = 0;
  bool ignore_eos = false;
  std::string stop;  // Empty: none.

  bool stats = false;
  bool json = false;
  std::string dump_logits;  // A path; empty: no dump.
};

}  // namespace strata

#endif  // STRATA_GENERATE_COMMANDS_GENERATE_OPTIONS_H_
