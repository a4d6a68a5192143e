#include "strata/core/cli/command_line.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "gflags/gflags.h"
#include "strata/core/error.h"

namespace strata {
namespace {

bool IsBoolFlag(const std::string& name) {
  gflags::CommandLineFlagInfo info;
  return gflags::GetCommandLineFlagInfo(name.c_str(), &info) && info.type == "bool";
}

std::string NormalizedFlag(absl::string_view argument) {
  const absl::string_view dashes = absl::StartsWith(argument, "--") ? "--" : "-";
  const absl::string_view body = absl::StripPrefix(argument, dashes);
  const size_t equals = std::min(body.find('='), body.size());
  std::string name = absl::StrReplaceAll(body.substr(0, equals), {{"-", "_"}});
  if (absl::string_view positive = name;
      absl::ConsumePrefix(&positive, "no_") && IsBoolFlag(std::string(positive))) {
    name = absl::StrCat("no", positive);
  }
  return absl::StrCat(dashes, name, body.substr(equals));
}

// A lone "-" is a file name; "-5" is a value.
bool IsFlag(absl::string_view argument) {
  return argument.size() > 1 && argument[0] == '-' && !absl::ascii_isdigit(argument[1]) &&
         argument != "--";
}

// Flags that gflags brings along. They read files, print other programs' help or excuse wrong
// flags: none of it is ours to offer.
bool IsOfTheLibrary(absl::string_view name) {
  for (absl::string_view foreign : {"flagfile", "fromenv", "tryfromenv", "undefok", "version",
                                    "helpfull", "helpshort", "helpon", "helpmatch", "helppackage",
                                    "helpxml", "tab_completion_word", "tab_completion_columns"}) {
    if (name == foreign) return true;
  }
  return false;
}

// The name of a flag in an argument as NormalizedFlags gives it.
absl::string_view FlagName(absl::string_view argument) {
  argument.remove_prefix(std::min(argument.find_first_not_of('-'), argument.size()));
  return argument.substr(0, argument.find('='));
}

bool IsOurs(const gflags::CommandLineFlagInfo& flag) {
  return absl::StartsWith(flag.filename, "strata/") || absl::StrContains(flag.filename, "/strata/");
}

std::string DefaultText(const gflags::CommandLineFlagInfo& flag) {
  return flag.type == "string" ? absl::StrCat("\"", flag.default_value, "\"") : flag.default_value;
}

}  // namespace

std::string ToolName(absl::string_view program) {
  return std::string(program.substr(program.find_last_of('/') + 1));
}

std::vector<std::string> NormalizedFlags(int argc, const char* const* argv) {
  std::vector<std::string> result;
  bool flags_over = false;
  for (int i = 0; i < argc; ++i) {
    const absl::string_view argument = argv[i];
    flags_over = flags_over || argument == "--";
    const bool rewrite = i > 0 && !flags_over && IsFlag(argument);
    result.push_back(rewrite ? NormalizedFlag(argument) : std::string(argument));
  }
  return result;
}

bool AsksForHelp(const std::vector<std::string>& command_line) {
  for (size_t i = 1; i < command_line.size() && command_line[i] != "--"; ++i) {
    if (command_line[i] == "--help" || command_line[i] == "-help" || command_line[i] == "-h") {
      return true;
    }
  }
  return false;
}

std::string HelpText(absl::string_view usage) {
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  flags.erase(std::remove_if(flags.begin(), flags.end(),
                             [](const gflags::CommandLineFlagInfo& flag) { return !IsOurs(flag); }),
              flags.end());
  std::sort(flags.begin(), flags.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  std::string text = absl::StrCat("Usage: ", usage, "\n");
  for (const gflags::CommandLineFlagInfo& flag : flags) {
    absl::StrAppend(&text, "\n  --", flag.name, " (", flag.type, ", default ", DefaultText(flag),
                    ")\n      ", flag.description, "\n");
  }
  return text;
}

std::vector<std::string> ParseFlags(const std::vector<std::string>& command_line) {
  std::vector<char*> pointers;
  for (const std::string& argument : command_line) {
    if (argument == "--") break;
    if (IsFlag(argument) && IsOfTheLibrary(FlagName(argument))) {
      std::cerr << "ERROR: unknown command line flag '" << FlagName(argument) << "'" << std::endl;
      std::exit(static_cast<int>(ExitCode::kCommandLine));
    }
  }
  for (const std::string& argument : command_line) {
    pointers.push_back(const_cast<char*>(argument.c_str()));
  }
  pointers.push_back(nullptr);
  int argc = static_cast<int>(command_line.size());
  char** argv = pointers.data();
  gflags::ParseCommandLineNonHelpFlags(&argc, &argv, /*remove_flags=*/true);
  return std::vector<std::string>(argv + 1, argv + argc);
}

}  // namespace strata
