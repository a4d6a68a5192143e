#include "strata/core/cli/flag_help.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gflags/gflags.h"
#include "strata/core/cli/command_line.h"

namespace strata {
namespace {

constexpr size_t kColumns = 80;
constexpr size_t kIndent = 2;
constexpr size_t kDescriptionColumn = 26;

std::string Takes(const gflags::CommandLineFlagInfo& flag, absl::string_view said) {
  if (!said.empty()) return absl::StrCat(" ", said);
  if (flag.type == "bool") return "";
  return flag.type == "string" ? " TEXT" : " N";
}

std::string DefaultText(const gflags::CommandLineFlagInfo& flag) {
  if (absl::StrContains(flag.description, "Default:")) return "";
  if (flag.type == "bool") {
    return flag.default_value == "true" ? absl::StrCat(" (on; --no", flag.name, " turns it off)")
                                        : "";
  }
  if (flag.default_value.empty()) return "";
  double number = 0;
  if (flag.type == "double" && absl::SimpleAtod(flag.default_value, &number)) {
    return absl::StrFormat(" (default %g)", number);
  }
  return absl::StrCat(" (default ", flag.default_value, ")");
}

// `text` in lines that begin at `column`, the first of which has `used` columns already.
std::string Wrapped(absl::string_view text, size_t used, size_t column) {
  std::string lines;
  for (const absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    const bool fits = used == column || used + 1 + word.size() <= kColumns;
    if (used < column) {
      lines.append(column - used, ' ');
      used = column;
    } else if (!fits) {
      absl::StrAppend(&lines, "\n", std::string(column, ' '));
      used = column;
    } else if (used > column) {
      lines += ' ';
      ++used;
    }
    absl::StrAppend(&lines, word);
    used += word.size();
  }
  return lines + "\n";
}

std::string FlagText(const std::string& entry) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(entry, absl::MaxSplits(' ', 1));
  const gflags::CommandLineFlagInfo flag = gflags::GetCommandLineFlagInfoOrDie(parts.first.c_str());
  std::string text = absl::StrCat("--", flag.name, Takes(flag, parts.second));
  text.insert(0, kIndent, ' ');
  size_t used = text.size();
  if (used + 2 > kDescriptionColumn) {
    text += '\n';
    used = 0;
  }
  return text +
         Wrapped(absl::StrCat(flag.description, DefaultText(flag)), used, kDescriptionColumn);
}

std::string GroupText(const FlagGroup& group, bool all) {
  std::string text;
  for (const std::string& flag : group.flags) text += FlagText(flag);
  if (all) {
    for (const std::string& flag : group.rare) text += FlagText(flag);
  }
  return text.empty() ? "" : absl::StrCat("\n", group.title, "\n", text);
}

// Flags of ours that no group names.
std::vector<std::string> Ungrouped(absl::Span<const FlagGroup> groups) {
  absl::flat_hash_set<std::string> grouped;
  for (const FlagGroup& group : groups) {
    for (const std::vector<std::string>* entries : {&group.flags, &group.rare}) {
      for (const std::string& entry : *entries) grouped.insert(entry.substr(0, entry.find(' ')));
    }
  }
  std::vector<std::string> names;
  for (const std::string& name : OurFlags()) {
    if (!grouped.contains(name)) names.push_back(name);
  }
  return names;
}

}  // namespace

std::string HelpText(absl::string_view usage, absl::Span<const FlagGroup> groups, bool all) {
  std::string text = absl::StrCat("Usage: ", usage, "\n");
  text += GroupText({.title = "Flags", .flags = Ungrouped(groups)}, all);
  for (const FlagGroup& group : groups) text += GroupText(group, all);
  const bool has_more = std::any_of(groups.begin(), groups.end(),
                                    [](const FlagGroup& group) { return !group.rare.empty(); });
  if (has_more && !all) text += "\n--help=all lists the rest.\n";
  return text;
}

}  // namespace strata
