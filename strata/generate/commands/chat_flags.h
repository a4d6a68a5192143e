// The flags of `generate` about conversations.
#ifndef STRATA_GENERATE_COMMANDS_CHAT_FLAGS_H_
#define STRATA_GENERATE_COMMANDS_CHAT_FLAGS_H_

#include <optional>

#include "absl/status/statusor.h"
#include "strata/generate/commands/chat_options.h"

namespace strata {

// What the command line said; nothing without --chat. A UsageError for flags that go with it alone.
absl::StatusOr<std::optional<ChatOptions>> ChatOptionsFromFlags();

}  // namespace strata

#endif  // STRATA_GENERATE_COMMANDS_CHAT_FLAGS_H_
