// Text from a model, and the model's view of text: see kUsage.
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gflags/gflags.h"
#include "strata/core/cli/byte_size.h"
#include "strata/core/cli/flag_validators.h"
#include "strata/core/cli/runfiles.h"
#include "strata/core/cli/thread_count.h"
#include "strata/core/cli/tool_main.h"
#include "strata/core/error.h"
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
DEFINE_string(prompt_file, "", "The same from a file; - is stdin.");
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
DEFINE_string(stop, "", "End before this text. Escapes are understood: \\n is the end of a line.");

DEFINE_int32(threads, 0, "Threads that compute; 0: one for each CPU of this process.");
DEFINE_int32(max_context, 0, "Tokens of prompt and answer together; 0: what the model allows.");
DEFINE_int32(prompt_batch, 128,
             "Tokens of the prompt computed at once; on a GPU 4096 unless told otherwise.");
DEFINE_string(kv, "f32", "How the context is kept: f32, f16 or int8.");
DEFINE_string(device, "auto", "What computes: cpu, cuda, or auto for a GPU where one is usable.");
DEFINE_string(vram_limit, "", "Bytes of GPU memory to use at most; empty: all that is free.");
DEFINE_string(snapshot_memory, "1GiB",
              "Of models whose memory of a text cannot be cut back: bytes of snapshots, at most, "
              "from which a changed conversation goes on instead of from its beginning.");
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
DEFINE_validator(vram_limit, &strata::IsByteSize);
DEFINE_validator(snapshot_memory, &strata::IsByteSize);

namespace strata {
namespace {

constexpr char kUsage[] =
    "generate [--model FILE] --prompt TEXT|--prompt_file FILE|--tokens_file FILE\n"
    "generate [--model FILE] --chat [--prompt TEXT]\n"
    "generate [--model FILE] --tokenize FILE|- [--parse_special] [--json]\n"
    "generate [--model FILE] --detokenize FILE|- [--json]";

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

absl::StatusOr<GenerateOptions> Options() {
  GenerateOptions options = {.prompt = ValueIfGiven("prompt", FLAGS_prompt),
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

absl::Status RunTokenizer() {
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

absl::Status RunGenerator(int num_prompts) {
  ASSIGN_OR_RETURN(const GenerateOptions options, Options());
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
  if (!arguments.empty()) {
    return UsageError("\"" + arguments.front() + "\" is no flag; files follow flags");
  }
  const int num_prompts = IsGiven("prompt") + IsGiven("prompt_file") + IsGiven("tokens_file");
  const int num_tokenizer = IsGiven("tokenize") + IsGiven("detokenize");
  const bool is_chat = FLAGS_chat && num_prompts == 0;
  if (num_prompts + num_tokenizer + is_chat != 1) {
    return UsageError(
        "give one of --prompt, --prompt_file, --tokens_file, --chat, --tokenize and --detokenize");
  }
  return num_tokenizer == 1 ? RunTokenizer() : RunGenerator(num_prompts);
}

}  // namespace
}  // namespace strata

int main(int argc, char** argv) {
  return strata::ToolMain({.usage = strata::kUsage, .json = &FLAGS_json}, strata::Run, argc, argv);
}
