// Finds out which variable each name of a template means.
//
// Jinja decides that before it runs a template: loops, macros and some blocks have scopes of their
// own, a variable set in one is gone after it, and inside `if` it is the same as outside. A name
// that is set somewhere in a scope starts there with the value of the scope around it.
#ifndef STRATA_GENERATE_CHAT_JINJA_SCOPES_H_
#define STRATA_GENERATE_CHAT_JINJA_SCOPES_H_

#include "absl/status/status.h"
#include "strata/generate/chat/jinja/syntax.h"

namespace strata::jinja {

// Fills in scopes and places. An error that names the line for a filter or test that does not
// exist, where it would be used in any case, and for a target that cannot be set.
absl::Status PlaceVariables(ParsedTemplate& parsed);

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_SCOPES_H_
