// Help of a tool's flags, for people: in groups, what is used most first.
//
//   const std::vector<FlagGroup> kGroups = {
//       {.title = "Model and prompt", .flags = {"model FILE", "prompt TEXT"}, .rare = {"kv TYPE"}}};
//
// A default is printed behind its flag's description, unless that speaks of it itself ("Default: all
// that is free.").
#ifndef STRATA_CORE_CLI_FLAG_HELP_H_
#define STRATA_CORE_CLI_FLAG_HELP_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace strata {

struct FlagGroup {
  std::string title;
  // Names, most used first, each with what it takes unless "N" for numbers, "TEXT" for strings and
  // nothing for switches says that: "model FILE".
  std::vector<std::string> flags;
  std::vector<std::string> rare;  // Shown by --help=all alone, behind the others.
};

// The usage and the flags of the groups in lines of 80 columns at most, ending with how to see the
// rare ones where `all` does not show them. Flags of this project's files that are in no group come
// first, in one of their own.
std::string HelpText(absl::string_view usage, absl::Span<const FlagGroup> groups, bool all);

}  // namespace strata

#endif  // STRATA_CORE_CLI_FLAG_HELP_H_
