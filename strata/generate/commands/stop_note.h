// Why an answer ended, where a person would ask.
#ifndef STRATA_GENERATE_COMMANDS_STOP_NOTE_H_
#define STRATA_GENERATE_COMMANDS_STOP_NOTE_H_

#include <cstdint>
#include <string>

#include "strata/generate/engine/generator.h"

namespace strata {

// One line: which limit cut the answer, and the flag that moves it. Empty for an answer that is whole.
// `max_context` is the engine's.
std::string StopNote(const Generation& generation, int64_t max_context);

}  // namespace strata

#endif  // STRATA_GENERATE_COMMANDS_STOP_NOTE_H_
