// How fast a model runs on this machine: see kUsage, and strata/generate/benchmark for what is
// measured (speed_benchmark.h on the CPU, depth_benchmark.h on a GPU).
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gflags/gflags.h"
#include "strata/core/cli/byte_size.h"
#include "strata/core/cli/flag_help.h"
#include "strata/core/cli/flag_validators.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/cli/runfiles.h"
#include "strata/core/cli/thread_count.h"
#include "strata/core/cli/tool_main.h"
#include "strata/core/error.h"
#include "strata/core/note.h"
#include "strata/core/status_macros.h"
#include "strata/generate/benchmark/depth_benchmark.h"
#include "strata/generate/benchmark/speed_benchmark.h"
#include "strata/generate/benchmark/speed_report.h"
#include "strata/generate/commands/expert_flags.h"
#include "strata/generate/commands/text_input.h"
#include "strata/generate/engine/kv_type.h"
#include "strata/generate/kernels/isa.h"
#include "strata/generate/loading/text_model.h"
#include "strata/generate/tokenizer/text_piece.h"
#include "strata/generate/tokenizer/token_id.h"
#include "strata/generate/tokenizer/tokenizer.h"

DEFINE_string(model, "",
              "GGUF file of the model. Default: the small model of the project's testdata.");
DEFINE_string(text, "", "Text to run through the model. Default: one of the project's testdata.");
DEFINE_string(tokens_file, "", "Instead: token ids, separated by white space.");
DEFINE_int32(prompt_tokens, 128, "Tokens of the text that are the prompt.");
DEFINE_int32(decode_tokens, 128, "Tokens after those, fed one by one.");
DEFINE_int32(prompt_batch, 128,
             "Tokens of the prompt computed at once. Default: 4096 on a GPU, 128 on the CPU.");
DEFINE_string(device, "cpu", "What computes: cpu or cuda.");
DEFINE_string(vram_limit, "", "GPU memory to use, at most, like 12GiB. Default: all that is free.");
DEFINE_string(kv, "f32", "How the context is kept: f32, f16 or int8.");
DEFINE_string(
    depths, "64,512,4096,32768",
    "With --device cuda, instead of --prompt_tokens: tokens of context before the decode, "
    "separated by commas. One that fills the context is cut by --decode_tokens. Of the default "
    "those that the model or the text are too short for are left out.");
DEFINE_string(threads, "2", "Numbers of threads to measure with, separated by commas.");
DEFINE_int32(repetitions, 9, "How often all of it is measured.");
DEFINE_string(isa, "auto", "Instruction set: scalar, avx2, avx512, or auto for the best.");
DEFINE_bool(json, false, "Print one JSON object instead of text.");
DEFINE_validator(prompt_tokens, &strata::IsPositive);
DEFINE_validator(decode_tokens, &strata::IsPositive);
DEFINE_validator(prompt_batch, &strata::IsPositive);
DEFINE_validator(repetitions, &strata::IsPositive);
DEFINE_validator(vram_limit, &strata::IsMemorySize);

namespace strata {
namespace {

constexpr char kUsage[] =
    "generate_benchmark [--model FILE] [--text FILE|--tokens_file FILE] [--threads N,N...]\n"
    "       generate_benchmark --device cuda [--model FILE] [--text FILE|--tokens_file FILE]\n"
    "                          [--depths N,N...]\n"
    "\n"
    "How fast a model reads prompts and writes answers on this CPU or GPU, beside a plain read of\n"
    "the same bytes.";
constexpr char kDefaultModel[] = "testdata/strata-tiny-q4_k_m.gguf";
constexpr char kDefaultText[] = "testdata/benchmark_text.txt";

bool IsGiven(const std::string& flag) {
  return !gflags::GetCommandLineFlagInfoOrDie(flag.c_str()).is_default;
}

// `path`, or else the program's own file, which one that was installed alone does not have.
absl::StatusOr<std::string> GivenOr(const std::string& path, const char* flag,
                                    const char* runfile) {
  if (!path.empty()) return path;
  absl::StatusOr<std::string> own = Runfile(runfile);
  if (own.ok()) return own;
  return UsageError(
      absl::StrCat("--", flag, " is missing, and this program was installed without ", runfile));
}

absl::StatusOr<std::vector<TokenId>> Ids(const TextModel& model) {
  if (!FLAGS_tokens_file.empty()) {
    if (!FLAGS_text.empty()) return UsageError("give --text or --tokens_file");
    return ReadTokenIds(FLAGS_tokens_file, model.graph().vocabulary);
  }
  ASSIGN_OR_RETURN(const Tokenizer* tokenizer, model.NeedTokenizer());
  ASSIGN_OR_RETURN(const std::string path, GivenOr(FLAGS_text, "text", kDefaultText));
  ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  return tokenizer->Encode(text, SpecialText::kIsPlainText);
}

// Of a flag that takes several, separated by commas.
absl::StatusOr<std::vector<int>> Numbers(const char* flag, const std::string& value, int most) {
  std::vector<int> numbers;
  for (const auto& text : absl::StrSplit(value, ',')) {
    int number = 0;
    if (!absl::SimpleAtoi(text, &number) || number < 1 || number > most) {
      return UsageError(
          absl::StrCat("--", flag, " has \"", text, "\"; numbers from 1 to ", most, " are taken"));
    }
    numbers.push_back(number);
  }
  return numbers;
}

absl::Status CheckLength(const TextModel& model, const std::vector<TokenId>& ids, int64_t needed) {
  if (std::ssize(ids) < needed) {
    return UsageError(
        absl::StrCat("the text has ", ids.size(), " tokens, but ", needed, " are to be measured"));
  }
  if (needed > model.engine().max_context()) {
    return UsageError(absl::StrCat("the model takes ", model.engine().max_context(),
                                   " tokens, but ", needed, " are to be measured"));
  }
  return absl::OkStatus();
}

absl::StatusOr<SpeedOptions> Options(const TextModel& model, KvType kv_type) {
  SpeedOptions options = {.num_prompt = FLAGS_prompt_tokens,
                          .num_decode = FLAGS_decode_tokens,
                          .prompt_batch = model.engine().prompt_batch(),
                          .kv_type = kv_type,
                          .repetitions = FLAGS_repetitions};
  ASSIGN_OR_RETURN(options.threads, Numbers("threads", FLAGS_threads, kMaxThreads));
  ASSIGN_OR_RETURN(options.ids, Ids(model));
  RETURN_IF_ERROR(CheckLength(model, options.ids, options.num_prompt + options.num_decode));
  return options;
}

// As --depths says. There is always one, if only to be refused.
std::vector<int64_t> DepthsToMeasure(const std::vector<int>& wanted, int64_t max_context,
                                     int64_t num_ids) {
  const bool is_default = !IsGiven("depths");
  const int64_t deepest = max_context - FLAGS_decode_tokens;
  std::vector<int64_t> depths;
  for (const int64_t depth : wanted) {
    const int64_t cut = depth <= max_context ? std::min(depth, deepest) : depth;
    const bool fits = 0 < cut && cut <= deepest && cut + FLAGS_decode_tokens <= num_ids;
    if (fits || !is_default || depths.empty()) depths.push_back(cut);
  }
  return depths;
}

absl::StatusOr<DepthOptions> DepthOptionsFor(const TextModel& model, KvType kv_type) {
  DepthOptions options = {.num_decode = FLAGS_decode_tokens,
                          .prompt_batch = model.engine().prompt_batch(),
                          .kv_type = kv_type,
                          .repetitions = FLAGS_repetitions};
  ASSIGN_OR_RETURN(const std::vector<int> depths,
                   Numbers("depths", FLAGS_depths, std::numeric_limits<int>::max()));
  ASSIGN_OR_RETURN(options.ids, Ids(model));
  options.depths = DepthsToMeasure(depths, model.engine().max_context(), std::ssize(options.ids));
  const int64_t deepest = *std::max_element(options.depths.begin(), options.depths.end());
  RETURN_IF_ERROR(CheckLength(model, options.ids, deepest + options.num_decode));
  return options;
}

absl::StatusOr<TextModel::Options> OpenOptions(KvType kv_type) {
  TextModel::Options options = {.engine = {.kv_type = kv_type}, .places_experts = false};
  if (IsGiven("prompt_batch")) {
    options.engine.prompt_batch = FLAGS_prompt_batch;
  }
  if (FLAGS_device == "cpu") return options;
  if (FLAGS_device != "cuda") {
    return UsageError(absl::StrCat("--device is ", FLAGS_device, "; cpu and cuda are known"));
  }
  options.device = TextModel::ComputesOn::kCuda;
  ASSIGN_OR_RETURN(options.engine.num_threads, ThreadCount(0));
  ASSIGN_OR_RETURN(options.experts, ExpertOptionsFromFlags());
  if (!FLAGS_vram_limit.empty()) {
    ASSIGN_OR_RETURN(options.vram_limit, ParseByteSize(FLAGS_vram_limit));
  }
  return options;
}

// Each device is measured in its own way.
void NoteIdleFlags() {
  std::vector<std::string> idle = {"threads", "prompt_tokens", "isa"};
  if (FLAGS_device == "cpu") {
    idle = {"depths", "vram_limit"};
    const FlagGroup experts = ExpertFlagGroup();
    for (const std::vector<std::string>* entries : {&experts.flags, &experts.rare}) {
      for (const std::string& entry : *entries) idle.push_back(entry.substr(0, entry.find(' ')));
    }
  }
  for (const std::string& flag : idle) {
    if (!IsGiven(flag)) continue;
    Note(absl::StrCat("--", flag, " has no effect with --device ", FLAGS_device));
  }
}

absl::StatusOr<Json> ReportOnCpu(TextModel& model, KvType kv_type) {
  ASSIGN_OR_RETURN(const SpeedOptions options, Options(model, kv_type));
  ASSIGN_OR_RETURN(const std::vector<SpeedResult> results,
                   MeasureSpeed(model.file(), model.graph(), options));
  return SpeedReport(model.file(), options, results);
}

absl::StatusOr<Json> ReportOnCuda(TextModel& model, KvType kv_type) {
  ASSIGN_OR_RETURN(const DepthOptions options, DepthOptionsFor(model, kv_type));
  ASSIGN_OR_RETURN(
      const std::vector<DepthResult> results,
      MeasureDepths(model.file(), model.graph(), *model.cuda(), *model.device(), options));
  return DepthReport(model.file(), *model.cuda(), options, results);
}

absl::Status Run(const std::vector<std::string>& arguments) {
  if (!arguments.empty()) return UsageError("\"" + arguments.front() + "\" is no flag");
  ASSIGN_OR_RETURN(const Isa isa, ParseIsa(FLAGS_isa));
  SetIsa(isa);
  ASSIGN_OR_RETURN(const std::string path, GivenOr(FLAGS_model, "model", kDefaultModel));
  const std::optional<KvType> kv_type = ParseKvType(FLAGS_kv);
  if (!kv_type.has_value()) {
    return UsageError(absl::StrCat("--kv is ", FLAGS_kv, "; f32, f16 and int8 are known"));
  }
  ASSIGN_OR_RETURN(const TextModel::Options open, OpenOptions(*kv_type));
  NoteIdleFlags();
  ASSIGN_OR_RETURN(const std::unique_ptr<TextModel> model, TextModel::Open(path, open));
  const bool on_cuda = model->cuda() != nullptr;
  ASSIGN_OR_RETURN(const Json report,
                   on_cuda ? ReportOnCuda(*model, *kv_type) : ReportOnCpu(*model, *kv_type));
  if (FLAGS_json) {
    PrintJson(report);
  } else {
    std::fputs((on_cuda ? DepthText(report) : SpeedText(report)).c_str(), stdout);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace strata

int main(int argc, char** argv) {
  return strata::ToolMain(
      {.usage = strata::kUsage,
       .json = &FLAGS_json,
       .groups = {{.title = "What to measure",
                   .flags = {"model FILE", "device NAME", "threads LIST", "prompt_tokens",
                             "decode_tokens", "depths LIST", "repetitions"},
                   .rare = {"text FILE", "tokens_file FILE", "prompt_batch", "kv TYPE", "isa NAME",
                            "vram_limit SIZE"}},
                  strata::ExpertFlagGroup(),
                  {.title = "Output", .flags = {"json"}}}},
      strata::Run, argc, argv);
}
