// Templates rendered by Python's Jinja and by ours, to be compared.
#ifndef STRATA_GENERATE_CHAT_JINJA_TESTING_PYTHON_JINJA_H_
#define STRATA_GENERATE_CHAT_JINJA_TESTING_PYTHON_JINJA_H_

#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "strata/generate/chat/jinja/marked_text.h"

namespace strata::jinja {

struct RenderCase {
  std::string name;
  std::string source;
  nlohmann::ordered_json context;
};

struct Outcome {
  bool is_error = false;
  std::string text;                       // What was written, or the error's message.
  std::vector<MarkedText::Piece> pieces;  // Of ours alone.
};

// In the order of `cases`, by one process. Both have the same fixed time of day.
std::vector<Outcome> RenderInPython(const std::vector<RenderCase>& cases);
// All of the context is content.
Outcome Render(const RenderCase& render_case);

// Each case that is not written the same by both, or is an error for one alone, fails the test that
// runs. The number of cases that are an error for both.
int ExpectSame(const std::vector<RenderCase>& cases);

// The text of a file in this folder.
std::string ReadTestFile(const std::string& name);

struct NamedTemplate {
  std::string name;
  std::string source;
};

// Our own reduced renditions of what models' files have, at least 60.
std::vector<NamedTemplate> ReadChatTemplates();

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_TESTING_PYTHON_JINJA_H_
