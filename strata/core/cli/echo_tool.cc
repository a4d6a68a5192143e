// The smallest tool there is, for the test of ToolMain: prints its arguments, or fails as it is
// told.
#include <fcntl.h>

#include <filesystem>
#include <iostream>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "gflags/gflags.h"
#include "glog/logging.h"
#include "strata/core/cli/flag_validators.h"
#include "strata/core/cli/tool_main.h"
#include "strata/core/error.h"
#include "strata/core/note.h"

DEFINE_bool(json, false, "Print a refused input as JSON.");
DEFINE_string(fail, "", "input, usage, machine, internal, interrupt, memory, thread or open.");
DEFINE_int32(copies, 1, "How often to print.");
DEFINE_string(budget, "", "A size.");

DEFINE_bool(chatty, false, "Say and log something.");

DEFINE_validator(copies, &strata::IsPositive);
DEFINE_validator(budget, &strata::IsByteSize);

namespace {

absl::Status Run(const std::vector<std::string>& arguments) {
  if (FLAGS_fail == "input") return strata::InputError("bad_magic", "a.gguf", "not \xff GGUF");
  if (FLAGS_fail == "usage") return strata::UsageError("name a file");
  if (FLAGS_fail == "machine") return strata::MachineError("no GPU");
  if (FLAGS_fail == "interrupt") return strata::InterruptedError("after 12 tokens");
  if (FLAGS_fail == "internal") return absl::InternalError("a bug");
  // Destructors stand between this and ToolMain.
  const std::vector<std::string> words(arguments.begin(), arguments.end());
  if (FLAGS_fail == "memory") throw std::bad_alloc();
  if (FLAGS_fail == "open") std::cerr << "opened " << open("/dev/null", O_RDONLY) << std::endl;
  if (FLAGS_fail == "thread") {
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  }
  if (FLAGS_chatty) {
    strata::Note("all is well");
    LOG(INFO) << "a detail";
    LOG(WARNING) << "not as asked";
    LOG(ERROR) << "nobody to tell";
  }
  for (int i = 0; i < FLAGS_copies; ++i) {
    for (const std::string& argument : arguments) std::cout << argument << "\n";
  }
  std::cout << std::filesystem::current_path().string() << "\n";
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  return strata::ToolMain(
      {.usage = "echo_tool WORD...",
       .json = &FLAGS_json,
       .groups = {{.title = "Words", .flags = {"copies"}, .rare = {"budget SIZE"}}}},
      Run, argc, argv);
}
