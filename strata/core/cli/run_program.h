// For tests of whole tools: runs a program to its end and keeps what it printed and used.
#ifndef STRATA_CORE_CLI_RUN_PROGRAM_H_
#define STRATA_CORE_CLI_RUN_PROGRAM_H_

#include <cstdint>
#include <string>
#include <vector>

namespace strata {

struct ProgramResult {
  int exit_code = -1;  // -1 when a signal ended it.
  int signal = 0;
  std::string out;
  std::string err;
  double cpu_seconds = 0;  // Of all its threads, in its code and in the kernel.
  int64_t peak_kib = 0;    // Largest resident set.
};

struct ProgramOptions {
  std::string input;                     // Given on stdin.
  std::string directory;                 // The working directory; this one's if empty.
  std::vector<std::string> environment;  // "NAME=value", added to this process's.
};

// `command[0]` is the program's path. A program that cannot be started gives exit code 127.
ProgramResult RunProgram(const std::vector<std::string>& command,
                         const ProgramOptions& options = {});

}  // namespace strata

#endif  // STRATA_CORE_CLI_RUN_PROGRAM_H_
