// Text from a model, and the model's view of text: see kUsage.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "gflags/gflags.h"
#include "strata/core/cli/byte_size.h"
#include "strata/core/cli/command_line.h"
#include "strata/core/cli/flag_help.h"
#include "strata/core/cli/flag_validators.h"
#include "strata/core/cli/runfiles.h"
#include "strata/core/cli/thread_count.h"
#include "strata/core/cli/tool_main.h"
#include "strata/core/error.h"
#include "strata/core/note.h"
#include "strata/core/status_macros.h"
#include "strata/core/utf8.h"
#include "strata/generate/commands/chat_command.h"
#include "strata/generate/commands/chat_flags.h"
#include "strata/generate/commands/expert_flags.h"
#include "strata/generate/commands/generate_command.h"
#include "strata/generate/commands/generate_options.h"
#include "strata/generate/commands/sampling_flags.h"
#include "strata/generate/commands/show_prompt_command.h"
#include "strata/generate/commands/tokenize_command.h"
#include "strata/generate/engine/engine.h"
#include "strata/generate/engine/kv_type.h"
#include "strata/generate/kernels/isa.h"
#include "strata/generate/loading/text_model.h"
#include "strata/generate/sampling/sampling_request.h"

DEFINE_string(
    model, "",
    "GGUF file of the model; for a split model any of its files. Default: the small model "
    "of the project's testdata.");
DEFINE_string(prompt, "", "Text to continue.");
DEFINE_string(
    prompt_file, "",
    "The same from a file, UTF-8; - is stdin. A byte order mark and one line end at the end of the "
    "file are no part of the prompt.");
DEFINE_string(
    tokens_file, "",
    "Token ids to continue, from a file: separated by white space, fed as they are (no BOS "
    "is added); - is stdin.");
DEFINE_bool(parse_special, false,
            "With --prompt, --prompt_file or --tokenize: texts of control tokens, like <|im_end|>, "
            "are those tokens.");

DECLARE_bool(chat);  // chat_flags.h has what goes with it.

DEFINE_int32(max_new, 256, "Tokens to generate, at most.");
DEFINE_bool(ignore_eos, false, "Go on after a token that ends the text.");
DEFINE_string(
    stop, "",
    "End before this text, which may be that of a control token, like <|im_end|>. Escapes "
    "are understood: \\n is the end of a line.");

DEFINE_int32(threads, 0,
             "Threads that compute. Default: one for each CPU that this process may use.");
DEFINE_int32(
    max_context, 0,
    "Tokens of prompt and answer together, at most. Default: what the model was made for.");
DEFINE_int32(prompt_batch, 128,
             "Tokens of the prompt computed at once. Default: 4096 on a GPU, 128 on the CPU.");
DEFINE_string(kv, "f32", "How the context is kept: f32, f16 or int8.");
DEFINE_string(device, "auto", "What computes: cpu, cuda, or auto for a GPU where one is usable.");
DEFINE_string(vram_limit, "", "GPU memory to use, at most, like 12GiB. Default: all that is free.");
DEFINE_string(snapshot_memory, "1GiB",
              "Snapshots, at most, of models whose memory of a text cannot be cut back: a changed "
              "conversation goes on from one instead of from its beginning.");
DEFINE_string(isa, "auto",
              "Instruction set of the CPU kernels: scalar, avx2, avx512, or auto for the best. The "
              "results are the same.");

DEFINE_bool(stats, false, "Print what the run cost, on stderr.");
DEFINE_bool(json, false, "Print one JSON object instead of text.");
DEFINE_string(
    dump_logits, "",
    "Write the logits after every token to this file: i32 n, i32 vocabulary, n ids, n rows "
    "of f32, little-endian.");

DEFINE_string(tokenize, "", "Print the token ids of this text file; - is stdin.");
DEFINE_string(
    detokenize, "",
    "Print the text of the token ids in this file, separated by white space; - is stdin.");

DEFINE_validator(max_new, &strata::IsNotNegative);
DEFINE_validator(threads, &strata::IsNotNegative);
DEFINE_validator(max_context, &strata::IsNotNegative);
DEFINE_validator(prompt_batch, &strata::IsPositive);
DEFINE_validator(vram_limit, &strata::IsMemorySize);
DEFINE_validator(snapshot_memory, &strata::IsByteSize);

namespace strata {
namespace {

constexpr char kUsage[] =
    "generate [--model FILE] [flags] TEXT...            continues a text\n"
    "       generate [--model FILE] [flags] --chat          holds a conversation\n"
    "       generate [--model FILE] [flags] --chat TEXT...  answers a message\n"
    "       generate [--model FILE] --tokenize FILE         prints the token ids of a text\n"
    "       generate [--model FILE] --detokenize FILE       prints the text of token ids\n"
    "\n"
    "  generate --model qwen3-30b-a3b.gguf --chat\n"
    "  generate --model qwen3-30b-a3b.gguf --max_new 100 \"In the beginning\"";

constexpr char kExample[] =
    "give a text to continue, like: generate \"In the beginning\"; or --chat for a conversation, "
    "--prompt_file, --tokens_file, --tokenize or --detokenize with a file; --help says more";

constexpr char kDefaultModel[] = "testdata/strata-tiny-q4_k_m.gguf";

bool IsGiven(const char* flag) { return !gflags::GetCommandLineFlagInfoOrDie(flag).is_default; }

absl::StatusOr<std::string> ModelPath() {
  if (IsGiven("model")) return FLAGS_model;
  const absl::StatusOr<std::string> path = Runfile(kDefaultModel);
  if (path.ok()) return path;
  return UsageError("--model is missing, and this program was installed without a model");
}

std::optional<std::string> ValueIfGiven(const char* flag, const std::string& value) {
  return IsGiven(flag) ? std::optional<std::string>(value) : std::nullopt;
}

absl::StatusOr<EngineOptions> EngineOptionsFromFlags() {
  ASSIGN_OR_RETURN(const Isa isa, ParseIsa(FLAGS_isa));
  SetIsa(isa);
  EngineOptions options = {.max_context = FLAGS_max_context};
  ASSIGN_OR_RETURN(options.num_threads, ThreadCount(FLAGS_threads));
  const std::optional<KvType> kv_type = ParseKvType(FLAGS_kv);
  if (!kv_type.has_value()) {
    return UsageError(absl::StrCat("--kv is ", FLAGS_kv, "; f32, f16 and int8 are known"));
  }
  options.kv_type = *kv_type;
  if (IsGiven("prompt_batch")) options.prompt_batch = FLAGS_prompt_batch;
  ASSIGN_OR_RETURN(options.snapshot_bytes, ParseByteSize(FLAGS_snapshot_memory));
  return options;
}

absl::StatusOr<TextModel::Options> OpenOptionsFromFlags() {
  TextModel::Options options;
  const std::optional<TextModel::ComputesOn> device = TextModel::ParseComputesOn(FLAGS_device);
  if (!device.has_value()) {
    return UsageError(absl::StrCat("--device is ", FLAGS_device, "; cpu, cuda and auto are known"));
  }
  options.device = *device;
  if (!FLAGS_vram_limit.empty()) {
    ASSIGN_OR_RETURN(options.vram_limit, ParseByteSize(FLAGS_vram_limit));
  }
  ASSIGN_OR_RETURN(options.engine, EngineOptionsFromFlags());
  ASSIGN_OR_RETURN(options.experts, ExpertOptionsFromFlags());
  return options;
}

absl::StatusOr<SamplingRequest> Sampling() {
  ASSIGN_OR_RETURN(SamplingRequest sampling, SamplingFromFlags());
  // A model as small as the project's own goes in circles when nothing keeps it from that.
  if (!IsGiven("model") && !sampling.repetition_penalty.has_value()) {
    sampling.repetition_penalty = 1.2f;
    sampling.repetition_window = sampling.repetition_window.value_or(0);
  }
  return sampling;
}

// The words of the command line that are no flags are a prompt, unless they are a file that somebody
// forgot to name by its flag.
absl::StatusOr<std::optional<std::string>> Prompt(const std::vector<std::string>& words) {
  if (words.empty()) return ValueIfGiven("prompt", FLAGS_prompt);
  if (absl::EndsWith(words.front(), ".gguf")) {
    return UsageError(absl::StrCat("a model is named by --model, like: generate --model ",
                                   words.front(), " --chat"));
  }
  if (words.size() == 1 && std::filesystem::exists(words.front())) {
    return UsageError(absl::StrCat(words.front(), " is a file: --prompt_file ", words.front(),
                                   " continues its text, --prompt ", words.front(), " its name"));
  }
  return absl::StrJoin(words, " ");
}

absl::StatusOr<GenerateOptions> Options(const std::vector<std::string>& words) {
  ASSIGN_OR_RETURN(const std::optional<std::string> prompt, Prompt(words));
  GenerateOptions options = {.prompt = prompt,
                             .prompt_file = ValueIfGiven("prompt_file", FLAGS_prompt_file),
                             .tokens_file = ValueIfGiven("tokens_file", FLAGS_tokens_file),
                             .parse_special = FLAGS_parse_special,
                             .max_new = FLAGS_max_new,
                             .ignore_eos = FLAGS_ignore_eos,
                             .stats = FLAGS_stats,
                             .json = FLAGS_json,
                             .dump_logits = FLAGS_dump_logits};
  ASSIGN_OR_RETURN(options.model, ModelPath());
  ASSIGN_OR_RETURN(options.open, OpenOptionsFromFlags());
  ASSIGN_OR_RETURN(options.chat, ChatOptionsFromFlags());
  ASSIGN_OR_RETURN(options.sampling, Sampling());
  if (!absl::CUnescape(FLAGS_stop, &options.stop)) {
    return UsageError(absl::StrCat("--stop has a wrong escape: ", FLAGS_stop));
  }
  if (!IsUtf8(options.stop)) return UsageError("--stop is no UTF-8: it would cut a character");
  return options;
}

// What speaks of generating says nothing to the tokenizer.
void NoteFlagsOfGenerating() {
  for (const std::string& flag : OurFlags()) {
    constexpr absl::string_view kOfTokenizer[] = {
        "model", "tokenize", "detokenize", "parse_special", "json", "quiet", "log_level"};
    const bool is_of_tokenizer =
        std::find(std::begin(kOfTokenizer), std::end(kOfTokenizer), flag) != std::end(kOfTokenizer);
    if (!IsGiven(flag.c_str()) || is_of_tokenizer) continue;
    Note(absl::StrCat("--", flag, " has no effect: nothing is generated"));
  }
}

absl::Status RunTokenizer() {
  NoteFlagsOfGenerating();
  ASSIGN_OR_RETURN(const std::string model, ModelPath());
  if (IsGiven("tokenize")) {
    return Tokenize({.model = model,
                     .input = FLAGS_tokenize,
                     .parse_special = FLAGS_parse_special,
                     .json = FLAGS_json});
  }
  if (FLAGS_parse_special) return UsageError("--parse_special does not go with --detokenize");
  return Detokenize({.model = model, .input = FLAGS_detokenize, .json = FLAGS_json});
}

absl::Status RunGenerator(const std::vector<std::string>& words, int num_prompts) {
  ASSIGN_OR_RETURN(const GenerateOptions options, Options(words));
  if (options.chat.has_value() && options.tokens_file.has_value()) {
    return UsageError("--chat takes text and not --tokens_file");
  }
  if (num_prompts == 1) {
    return options.chat.has_value() && options.chat->shows_prompt ? ShowPrompt(options)
                                                                  : GenerateAnswer(options);
  }
  if (options.json || !options.dump_logits.empty()) {
    return UsageError("--json and --dump_logits want a prompt");
  }
  return Chat(options);
}

absl::Status Run(const std::vector<std::string>& arguments) {
  const int num_flags = IsGiven("prompt") + IsGiven("prompt_file") + IsGiven("tokens_file");
  const int num_tokenizer = IsGiven("tokenize") + IsGiven("detokenize");
  const int num_prompts = num_flags + (arguments.empty() ? 0 : 1);
  if (!arguments.empty() && num_flags + num_tokenizer > 0) {
    return UsageError(absl::StrCat("\"", arguments.front(),
                                   "\" is no flag, and there is a prompt without it; a value with "
                                   "spaces is written in quotes"));
  }
  const bool is_chat = FLAGS_chat && num_prompts == 0;
  if (num_prompts + num_tokenizer + is_chat == 0) return UsageError(kExample);
  if (num_prompts + num_tokenizer + is_chat > 1) {
    return UsageError(
        "give one of --prompt, --prompt_file, --tokens_file, --chat, --tokenize and --detokenize");
  }
  return num_tokenizer == 1 ? RunTokenizer() : RunGenerator(arguments, num_prompts);
}

const std::vector<FlagGroup>& Groups() {
  static const auto* const groups = new std::vector<FlagGroup>{
      {.title = "Model and prompt",
       .flags = {"model FILE", "prompt TEXT", "prompt_file FILE", "max_new", "stop TEXT"},
       .rare = {"tokens_file FILE", "parse_special", "ignore_eos", "tokenize FILE",
                "detokenize FILE"}},
      {.title = "Sampling",
       .flags = {"temperature X", "top_p X", "top_k", "seed"},
       .rare = {"min_p X", "repetition_penalty X", "repetition_window"}},
      {.title = "Chat",
       .flags = {"chat", "system TEXT"},
       .rare = {"template_args JSON", "tools FILE", "chat_template FILE", "chat_format NAME",
                "show_prompt"}},
      ExpertFlagGroup(),
      {.title = "Machine",
       .flags = {"device NAME", "vram_limit SIZE", "max_context", "threads"},
       .rare = {"kv TYPE", "prompt_batch", "snapshot_memory SIZE", "isa NAME"}},
      {.title = "Output", .flags = {"json", "stats"}, .rare = {"dump_logits FILE"}}};
  return *groups;
}

}  // namespace
}  // namespace strata

int main(int argc, char** argv) {
  return strata::ToolMain(
      {.usage = strata::kUsage, .json = &FLAGS_json, .groups = strata::Groups()}, strata::Run, argc,
      argv);
}
