#include "strata/generate/testing/run_generate.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/cli/run_program.h"
#include "strata/core/cli/runfiles.h"

namespace strata {

ProgramResult RunGenerate(const std::vector<std::string>& flags, const std::string& input) {
  std::vector<std::string> command = {Runfile("strata/generate/generate").value()};
  command.insert(command.end(), flags.begin(), flags.end());
  return RunProgram(command, {.input = input});
}

Json GenerateJson(std::vector<std::string> flags) {
  flags.push_back("--json");
  const ProgramResult result = RunGenerate(flags);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return Json::parse(result.out, nullptr, /*allow_exceptions=*/false);
}

std::string TestFile(const std::string& name) {
  return (std::filesystem::path(::testing::TempDir()) / name).string();
}

void WriteFile(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::optional<std::string> SharedFile(const std::string& path) {
  const char* const folder = std::getenv("STRATA_TEST_DATA");
  if (folder == nullptr || *folder == '\0') return std::nullopt;
  const std::filesystem::path file = std::filesystem::path(folder) / path;
  if (!std::filesystem::exists(file)) return std::nullopt;
  return file.string();
}

}  // namespace strata
