// For tests of `generate` as a program.
#ifndef STRATA_GENERATE_TESTING_RUN_GENERATE_H_
#define STRATA_GENERATE_TESTING_RUN_GENERATE_H_

#include <optional>
#include <string>
#include <vector>

#include "strata/core/cli/json_output.h"
#include "strata/core/cli/run_program.h"

namespace strata {

// The test's data must have //strata/generate.
ProgramResult RunGenerate(const std::vector<std::string>& flags, const std::string& input = "");

// What it prints with --json; the run must end with exit code 0.
Json GenerateJson(std::vector<std::string> flags);

// A file in the test's own folder.
std::string TestFile(const std::string& name);
void WriteFile(const std::string& path, const std::string& content);
std::string ReadFile(const std::string& path);

// A file of the folder of large test files; none when there is no such folder.
std::optional<std::string> SharedFile(const std::string& path);

}  // namespace strata

#endif  // STRATA_GENERATE_TESTING_RUN_GENERATE_H_
