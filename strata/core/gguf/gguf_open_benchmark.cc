// How long GgufFile::Open takes and how much memory it needs, for headers of many records.
//
//   bazel run //strata/core/gguf:gguf_open_benchmark
//
// Each file is opened in a process of its own, once to warm the page cache and then 21 times for
// the median and the spread. Peak memory is what the process grew by while the file was first
// opened and held (VmHWM against VmRSS before), beside the bound of 3 x header bytes + 16 MiB.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "strata/core/block_type.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_value.h"
#include "strata/core/gguf/gguf_writer.h"

namespace strata {
namespace {

constexpr int kRounds = 21;
constexpr double kMiB = 1024 * 1024;

GgufWriter ManyKeys(int count) {
  GgufWriter writer;
  for (int i = 0; i < count; ++i) {
    writer.Key(absl::StrFormat("key.number.%05d", i), static_cast<uint32_t>(i));
  }
  return writer;
}

GgufWriter ManyTensors(int count) {
  GgufWriter writer;
  for (int i = 0; i < count; ++i) {
    writer.Tensor(absl::StrFormat("blk.%d.tensor.%d.weight", i / 100, i % 100), BlockType::kF32,
                  {4, 2});
  }
  return writer;
}

// As large vocabularies are: tokens, scores and merges.
GgufWriter ManyTokens(int count) {
  GgufWriter writer;
  std::vector<std::string> tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(absl::StrFormat("token%d", i));
  writer.Key("tokenizer.ggml.tokens", tokens).Key("tokenizer.ggml.merges", tokens);
  return writer.Key("tokenizer.ggml.token_type",
                    std::vector<int32_t>(static_cast<size_t>(count), 1));
}

// A line of /proc/self/status in bytes.
int64_t StatusBytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  std::string word;
  int64_t kib = 0;
  while (status >> word) {
    if (word == field + ":" && status >> kib) return kib * 1024;
  }
  LOG(FATAL) << "no " << field << " in /proc/self/status";
}

double OpenMs(const std::string& path) {
  const auto begin = std::chrono::steady_clock::now();
  const auto file = GgufFile::Open(path);
  const auto end = std::chrono::steady_clock::now();
  CHECK(file.ok()) << file.status();
  return std::chrono::duration<double, std::milli>(end - begin).count();
}

void Report(const char* what, const std::string& path) {
  const int64_t before = StatusBytes("VmRSS");
  OpenMs(path);
  const int64_t grown = std::max<int64_t>(0, StatusBytes("VmHWM") - before);
  const auto file = GgufFile::Open(path);
  CHECK(file.ok()) << file.status();
  const int64_t header_bytes = (*file)->shards()[0]->header().header_bytes();

  std::vector<double> times;
  for (int round = 0; round < kRounds; ++round) times.push_back(OpenMs(path));
  std::sort(times.begin(), times.end());
  std::printf("%-18s %8.2f MiB header   open %7.2f ms (%.2f to %.2f)   peak %7.2f MiB of %7.2f\n",
              what, static_cast<double>(header_bytes) / kMiB, times[kRounds / 2], times.front(),
              times.back(), static_cast<double>(grown) / kMiB,
              3 * static_cast<double>(header_bytes) / kMiB + 16);
  std::fflush(stdout);
}

// Runs `work` in a process of its own, whose memory holds nothing that others left behind.
template <typename Work>
void InChild(const Work& work) {
  const pid_t child = fork();
  PCHECK(child >= 0);
  if (child == 0) {
    work();
    _exit(0);
  }
  int status = 0;
  PCHECK(waitpid(child, &status, 0) == child);
  CHECK_EQ(status, 0);
}

void Run(const char* what, GgufWriter (*make)(int), int count) {
  const std::string path =
      std::filesystem::temp_directory_path() / absl::StrFormat("gguf_open_%d.gguf", getpid());
  InChild([&] { make(count).WriteTo(path); });
  InChild([&] { Report(what, path); });
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace strata

int main(int /*argc*/, char** argv) {
  google::InitGoogleLogging(argv[0]);
  FLAGS_logtostderr = true;
  strata::Run("20,000 keys", strata::ManyKeys, 20000);
  strata::Run("10,000 tensors", strata::ManyTensors, 10000);
  strata::Run("1,000,000 keys", strata::ManyKeys, 1000000);
  strata::Run("100,000 tensors", strata::ManyTensors, 100000);
  strata::Run("1,000,000 tokens", strata::ManyTokens, 1000000);
  return 0;
}
