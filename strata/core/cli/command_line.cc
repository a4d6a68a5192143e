#include "strata/core/cli/command_line.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "gflags/gflags.h"
#include "strata/core/cli/flag_validators.h"
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

bool IsOurs(const gflags::CommandLineFlagInfo& flag) {
  return absl::StartsWith(flag.filename, "strata/") || absl::StrContains(flag.filename, "/strata/");
}

bool IsOurFlag(const std::string& name) {
  gflags::CommandLineFlagInfo info;
  return gflags::GetCommandLineFlagInfo(name.c_str(), &info) && IsOurs(info);
}

// Letters to insert, remove or replace until `a` is `b`.
size_t Distance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

absl::Status UnknownFlag(absl::string_view name) {
  std::string nearest;
  // Two letters that changed places are a distance of 2.
  size_t least = (name.size() <= 3 ? 1 : std::max<size_t>(2, name.size() / 3)) + 1;
  for (const std::string& flag : OurFlags()) {
    const size_t distance = Distance(name, flag);
    if (distance < least) {
      least = distance;
      nearest = flag;
    }
  }
  return UsageError(absl::StrCat("there is no flag --", name,
                                 nearest.empty() ? "" : absl::StrCat("; is --", nearest, " meant?"),
                                 nearest.empty() ? "; --help lists them" : ""));
}

absl::Status WrongValue(const gflags::CommandLineFlagInfo& flag, absl::string_view value) {
  const std::string refusal = TakeRefusal();
  if (!refusal.empty()) return UsageError(absl::StrCat("--", flag.name, " ", refusal));
  const absl::string_view wanted = flag.type == "bool"     ? "true or false"
                                   : flag.type == "double" ? "a number"
                                   : flag.type == "string" ? "another value"
                                                           : "a whole number in its range";
  return UsageError(absl::StrCat("--", flag.name, " takes ", wanted, ", not \"", value, "\""));
}

// One flag of a command line, with its value from "=" or from the argument behind it.
class FlagArgument {
 public:
  explicit FlagArgument(absl::string_view argument) {
    argument.remove_prefix(std::min(argument.find_first_not_of('-'), argument.size()));
    const size_t equals = argument.find('=');
    name_ = std::string(argument.substr(0, equals));
    if (equals != absl::string_view::npos) value_ = std::string(argument.substr(equals + 1));
    if (!IsOurFlag(name_) && absl::StartsWith(name_, "no") && IsBoolFlag(name_.substr(2)) &&
        IsOurFlag(name_.substr(2)) && !value_.has_value()) {
      name_.erase(0, 2);
      value_ = "false";
    }
    if (IsBoolFlag(name_) && !value_.has_value()) value_ = "true";
  }

  bool wants_value() const { return IsOurFlag(name_) && !value_.has_value(); }

  // A flag where a value is wanted is a value that was forgotten.
  absl::Status TakeValue(absl::string_view next) {
    if (IsFlag(next)) {
      const FlagArgument other(next);
      if (IsOurFlag(other.name_)) {
        return UsageError(absl::StrCat("--", name_, " wants a value, and --", other.name_,
                                       " is a flag; --", name_, "=", next, " would take it"));
      }
    }
    value_ = std::string(next);
    return absl::OkStatus();
  }

  absl::Status Set() const {
    gflags::CommandLineFlagInfo flag;
    if (!gflags::GetCommandLineFlagInfo(name_.c_str(), &flag) || !IsOurs(flag)) {
      return UnknownFlag(name_);
    }
    if (!value_.has_value()) return UsageError(absl::StrCat("--", name_, " wants a value"));
    if (!gflags::SetCommandLineOption(name_.c_str(), value_->c_str()).empty()) {
      return absl::OkStatus();
    }
    return WrongValue(flag, *value_);
  }

 private:
  std::string name_;
  std::optional<std::string> value_;
};

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

Asked WhatIsAsked(const std::vector<std::string>& command_line) {
  for (size_t i = 1; i < command_line.size() && command_line[i] != "--"; ++i) {
    const std::string& argument = command_line[i];
    if (argument == "--help" || argument == "-help" || argument == "-h") return Asked::kHelp;
    if (argument == "--help=all" || argument == "-help=all") return Asked::kAllHelp;
    if (argument == "--version" || argument == "-version") return Asked::kVersion;
  }
  return Asked::kWork;
}

std::vector<std::string> OurFlags() {
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  std::vector<std::string> names;
  for (const gflags::CommandLineFlagInfo& flag : flags) {
    if (IsOurs(flag)) names.push_back(flag.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<std::vector<std::string>> ParseFlags(const std::vector<std::string>& command_line) {
  std::vector<std::string> arguments;
  absl::Status first_wrong;
  for (size_t i = 1; i < command_line.size(); ++i) {
    if (command_line[i] == "--") {
      arguments.insert(arguments.end(), command_line.begin() + static_cast<ptrdiff_t>(i) + 1,
                       command_line.end());
      break;
    }
    if (!IsFlag(command_line[i])) {
      arguments.push_back(command_line[i]);
      continue;
    }
    FlagArgument flag(command_line[i]);
    if (flag.wants_value() && i + 1 < command_line.size()) {
      const absl::Status taken = flag.TakeValue(command_line[i + 1]);
      first_wrong.Update(taken);
      if (!taken.ok()) continue;  // The next argument is a flag of its own.
      ++i;
    }
    first_wrong.Update(flag.Set());
  }
  if (!first_wrong.ok()) return first_wrong;
  return arguments;
}

}  // namespace strata
