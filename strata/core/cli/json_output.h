// One JSON object on stdout, whatever bytes its strings hold.
#ifndef STRATA_CORE_CLI_JSON_OUTPUT_H_
#define STRATA_CORE_CLI_JSON_OUTPUT_H_

#include "nlohmann/json.hpp"

namespace strata {

// Ordered: keys are printed in the order in which they were set.
using Json = nlohmann::ordered_json;

// Prints `value` and a newline to stdout, in ASCII: nothing in it steers a terminal. Bytes that are
// not UTF-8 become U+FFFD: who must keep them stores them in another way first.
void PrintJson(const Json& value);

}  // namespace strata

#endif  // STRATA_CORE_CLI_JSON_OUTPUT_H_
