// How fast a model runs on this machine's CPU: see kUsage and
// strata/generate/benchmark/speed_benchmark.h.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gflags/gflags.h"
#include "strata/core/cli/flag_validators.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/cli/runfiles.h"
#include "strata/core/cli/thread_count.h"
#include "strata/core/cli/tool_main.h"
#include "strata/core/error.h"
#include "strata/core/status_macros.h"
#include "strata/generate/benchmark/speed_benchmark.h"
#include "strata/generate/benchmark/speed_report.h"
#include "strata/generate/commands/text_input.h"
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
DEFINE_int32(prompt_batch, 128, "Tokens of the prompt computed at once.");
DEFINE_string(threads, "2", "Numbers of threads to measure with, separated by commas.");
DEFINE_int32(repetitions, 9, "How often all of it is measured.");
DEFINE_string(isa, "auto", "Instruction set: scalar, avx2, avx512, or auto for the best.");
DEFINE_bool(json, false, "Print one JSON object instead of text.");
DEFINE_validator(prompt_tokens, &strata::IsPositive);
DEFINE_validator(decode_tokens, &strata::IsPositive);
DEFINE_validator(prompt_batch, &strata::IsPositive);
DEFINE_validator(repetitions, &strata::IsPositive);

namespace strata {
namespace {

constexpr char kUsage[] =
    "generate_benchmark [--model FILE] [--text FILE|--tokens_file FILE] [--threads N,N...]";
constexpr char kDefaultModel[] = "testdata/strata-tiny-q4_k_m.gguf";
constexpr char kDefaultText[] = "testdata/benchmark_text.txt";

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

absl::StatusOr<std::vector<int>> Threads() {
  std::vector<int> threads;
  for (const auto& text : absl::StrSplit(FLAGS_threads, ',')) {
    int number = 0;
    if (!absl::SimpleAtoi(text, &number) || number < 1 || number > kMaxThreads) {
      return UsageError(absl::StrCat("--threads has \"", text, "\"; numbers from 1 to ",
                                     kMaxThreads, " are taken"));
    }
    threads.push_back(number);
  }
  return threads;
}

absl::StatusOr<SpeedOptions> Options(const TextModel& model) {
  SpeedOptions options = {.num_prompt = FLAGS_prompt_tokens,
                          .num_decode = FLAGS_decode_tokens,
                          .prompt_batch = FLAGS_prompt_batch,
                          .repetitions = FLAGS_repetitions};
  ASSIGN_OR_RETURN(options.threads, Threads());
  ASSIGN_OR_RETURN(options.ids, Ids(model));
  const int64_t needed = options.num_prompt + options.num_decode;
  if (static_cast<int64_t>(options.ids.size()) < needed) {
    return UsageError(absl::StrCat("the text has ", options.ids.size(), " tokens, but ", needed,
                                   " are to be measured"));
  }
  if (needed > model.graph().context_length) {
    return UsageError(absl::StrCat("the model takes ", model.graph().context_length,
                                   " tokens, but ", needed, " are to be measured"));
  }
  return options;
}

absl::Status Run(const std::vector<std::string>& arguments) {
  if (!arguments.empty()) return UsageError("\"" + arguments.front() + "\" is no flag");
  ASSIGN_OR_RETURN(const Isa isa, ParseIsa(FLAGS_isa));
  SetIsa(isa);
  ASSIGN_OR_RETURN(const std::string path, GivenOr(FLAGS_model, "model", kDefaultModel));
  ASSIGN_OR_RETURN(const std::unique_ptr<TextModel> model, TextModel::Open(path, {}));
  ASSIGN_OR_RETURN(const SpeedOptions options, Options(*model));
  ASSIGN_OR_RETURN(const std::vector<SpeedResult> results,
                   MeasureSpeed(model->file(), model->graph(), options));
  const Json report = SpeedReport(model->file(), options, results);
  if (FLAGS_json) {
    PrintJson(report);
  } else {
    std::fputs(SpeedText(report).c_str(), stdout);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace strata

int main(int argc, char** argv) {
  return strata::ToolMain({.usage = strata::kUsage, .json = &FLAGS_json}, strata::Run, argc, argv);
}
