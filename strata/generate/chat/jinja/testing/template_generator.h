// Random templates from a grammar: most of them run, some are errors.
#ifndef STRATA_GENERATE_CHAT_JINJA_TESTING_TEMPLATE_GENERATOR_H_
#define STRATA_GENERATE_CHAT_JINJA_TESTING_TEMPLATE_GENERATOR_H_

#include <random>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace strata::jinja {

// The same templates for the same seed. They read the variables a, b (integers), s, u (texts), l
// (a list of integers), ls (a list of texts), d (a dict of texts x and y) and messages.
class TemplateGenerator {
 public:
  explicit TemplateGenerator(uint64_t seed) : random_(seed) {}

  std::string Template();
  // A number below `size`.
  size_t Below(size_t size) { return random_() % size; }

 private:
  std::string Body(int depth);
  std::string Statement(int depth);
  std::string Expression(int depth);
  std::string Text(int depth);
  std::string Number(int depth);
  std::string List(int depth);
  std::string Condition(int depth);
  std::string Pick(const std::vector<std::string>& choices) {
    return choices[Below(choices.size())];
  }
  // "{%" and "%}" with and without signs.
  std::string Tag(const std::string& inside);
  std::string Space();

  std::mt19937_64 random_;
};

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_TESTING_TEMPLATE_GENERATOR_H_
