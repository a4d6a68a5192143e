// Text from a model, and the model's view of text: see kUsage.
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gflags/gflags.h"
#include "strata/core/cli/tool_main.h"
#include "strata/core/error.h"
#include "strata/generate/tokenize_command.h"

DEFINE_string(model, "", "GGUF file of the model; for a split model any of its files.");
DEFINE_string(prompt, "", "Text to continue.");
DEFINE_string(tokenize, "", "Print the token ids of this text file; - is stdin.");
DEFINE_string(
    detokenize, "",
    "Print the text of the token ids in this file, separated by white space; - is stdin.");
DEFINE_bool(parse_special, false,
            "With --tokenize: texts of control tokens, like <|im_end|>, are those tokens.");
DEFINE_bool(json, false, "Print one JSON object instead of text.");

namespace {

constexpr char kUsage[] =
    "generate --model FILE --tokenize FILE|- [--parse_special] [--json]\n"
    "generate --model FILE --detokenize FILE|- [--json]\n"
    "generate --model FILE --prompt TEXT";

absl::Status Run(const std::vector<std::string>& arguments) {
  if (!arguments.empty()) {
    return strata::UsageError("\"" + arguments.front() + "\" is no flag; files follow flags");
  }
  const int num_modes = !FLAGS_tokenize.empty() + !FLAGS_detokenize.empty() + !FLAGS_prompt.empty();
  if (num_modes != 1) {
    return strata::UsageError("give one of --prompt, --tokenize and --detokenize");
  }
  if (FLAGS_model.empty()) return strata::UsageError("--model is missing");
  if (!FLAGS_tokenize.empty()) {
    return strata::Tokenize({.model = FLAGS_model,
                             .input = FLAGS_tokenize,
                             .parse_special = FLAGS_parse_special,
                             .json = FLAGS_json});
  }
  if (FLAGS_parse_special) return strata::UsageError("--parse_special goes with --tokenize");
  if (!FLAGS_detokenize.empty()) {
    return strata::Detokenize(
        {.model = FLAGS_model, .input = FLAGS_detokenize, .json = FLAGS_json});
  }
  return absl::UnimplementedError("this build of generate does not generate text yet");
}

}  // namespace

int main(int argc, char** argv) {
  return strata::ToolMain({.usage = kUsage, .json = &FLAGS_json}, Run, argc, argv);
}
