#include "strata/core/cli/run_program.h"

#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "glog/logging.h"

namespace strata {
namespace {

struct CloseFile {
  void operator()(FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<FILE, CloseFile>;

// An unnamed file: output of any size fits, and no thread has to empty a pipe.
File TemporaryFile(const std::string& content = "") {
  File file(std::tmpfile());
  PCHECK(file != nullptr) << "cannot make a temporary file";
  PCHECK(std::fwrite(content.data(), 1, content.size(), file.get()) == content.size());
  PCHECK(std::fflush(file.get()) == 0);
  std::rewind(file.get());
  return file;
}

std::string Content(FILE* file) {
  std::string content;
  std::rewind(file);
  char piece[1 << 16];
  while (const size_t n = std::fread(piece, 1, sizeof(piece), file)) content.append(piece, n);
  return content;
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> Environment(const ProgramOptions& options) {
  std::vector<std::string> environment = options.environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  return environment;
}

}  // namespace

ProgramResult RunProgram(const std::vector<std::string>& command, const ProgramOptions& options) {
  const File in = TemporaryFile(options.input), out = TemporaryFile(), err = TemporaryFile();
  const std::vector<char*> arguments = Pointers(command);
  const std::vector<std::string> environment = Environment(options);
  const std::vector<char*> environment_pointers = Pointers(environment);
  const pid_t child = fork();
  PCHECK(child >= 0) << "cannot fork";
  if (child == 0) {
    dup2(fileno(in.get()), STDIN_FILENO);
    dup2(fileno(out.get()), STDOUT_FILENO);
    dup2(fileno(err.get()), STDERR_FILENO);
    if (!options.directory.empty() && chdir(options.directory.c_str()) != 0) _exit(127);
    execve(arguments[0], arguments.data(), environment_pointers.data());
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  PCHECK(wait4(child, &status, 0, &usage) == child) << "cannot wait for " << command[0];
  ProgramResult result;
  result.cpu_seconds = Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  result.peak_kib = usage.ru_maxrss;
  result.out = Content(out.get());
  result.err = Content(err.get());
  return result;
}

}  // namespace strata
