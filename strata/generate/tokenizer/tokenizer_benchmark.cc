// How fast text becomes ids, plain and pathological: MB of UTF-8 in a second of processor time,
// which other programs on the machine change less than time by the clock.
//
//   bazel run //strata/generate/tokenizer:tokenizer_benchmark -- MODEL.gguf
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "strata/core/cli/tool_main.h"
#include "strata/core/error.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/status_macros.h"
#include "strata/generate/tokenizer/read_vocabulary.h"
#include "strata/generate/tokenizer/tokenizer.h"

namespace strata {
namespace {

constexpr size_t kTextBytes = 1000000;
constexpr int kNumRuns = 5;

struct Input {
  const char* name;
  std::string text;
};

double ProcessorSeconds() {
  timespec time;
  PCHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::string Repeated(absl::string_view unit) {
  std::string text;
  while (text.size() + unit.size() <= kTextBytes) text.append(unit.data(), unit.size());
  return text;
}

std::string RandomLetters(absl::string_view alphabet) {
  std::mt19937 random(1);
  std::string text;
  while (text.size() < kTextBytes) text.push_back(alphabet[random() % alphabet.size()]);
  return text;
}

std::vector<Input> Inputs() {
  return {
      {"prose", Repeated("In the beginning was the Word, and the Word was with God; 42 times.\n")},
      {"one run of the letter a", Repeated("a")},
      {"one run of random letters", RandomLetters("etaoinshrdlucmfwyp")},
      {"one run of upper-case letters after others", Repeated("世A")},
      {"one run of spaces", Repeated(" ")},
      {"spaces, then a digit", Repeated(" ") + "1"},
      {"one run of line ends", Repeated("\n")},
      {"one run of digits", Repeated("7")},
      {"one run of emoji", Repeated("\U0001F600")},
      {"one run of punctuation", Repeated("<")},
      {"one run of combining marks", Repeated("\u0301")},
      {"special tokens only", Repeated("<|im_end|>")},
      {"almost special tokens", Repeated("<|im_end|")},
      {"bytes that are no UTF-8", Repeated("\xFF")},
  };
}

absl::Status Measure(const Tokenizer& tokenizer, const Input& input) {
  std::vector<double> rates;
  size_t num_ids = 0;
  for (int run = 0; run < kNumRuns; ++run) {
    const double start = ProcessorSeconds();
    ASSIGN_OR_RETURN(const std::vector<TokenId> ids,
                     tokenizer.Encode(input.text, SpecialText::kIsToken));
    const double seconds = ProcessorSeconds() - start;
    rates.push_back(static_cast<double>(input.text.size()) / 1e6 / seconds);
    num_ids = ids.size();
  }
  std::sort(rates.begin(), rates.end());
  std::printf("%8.2f  %8.2f  %8.2f  %9zu  %s\n", rates[kNumRuns / 2], rates.front(), rates.back(),
              num_ids, input.name);
  return absl::OkStatus();
}

absl::Status Run(const std::vector<std::string>& arguments) {
  if (arguments.size() != 1) return UsageError("give one GGUF file");
  ASSIGN_OR_RETURN(const std::unique_ptr<GgufFile> file, GgufFile::Open(arguments[0]));
  const double start = ProcessorSeconds();
  ASSIGN_OR_RETURN(Vocabulary vocabulary, ReadVocabulary(*file));
  const std::string pre = vocabulary.pre;
  ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer,
                   Tokenizer::Create(std::move(vocabulary)));
  const double load_ms = (ProcessorSeconds() - start) * 1e3;
  std::printf("%s: %d tokens, pre %s, loaded in %.1f ms; one thread, %d runs of %zu bytes\n",
              arguments[0].c_str(), tokenizer->num_tokens(), pre.c_str(), load_ms, kNumRuns,
              kTextBytes);
  std::printf("%8s  %8s  %8s  %9s  (MB/s)\n", "median", "slowest", "fastest", "ids");
  for (const Input& input : Inputs()) RETURN_IF_ERROR(Measure(*tokenizer, input));
  return absl::OkStatus();
}

}  // namespace
}  // namespace strata

int main(int argc, char** argv) {
  return strata::ToolMain({.usage = "tokenizer_benchmark MODEL.gguf"}, strata::Run, argc, argv);
}
