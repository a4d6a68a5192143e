// A chat template: a program in Jinja that writes a conversation as a prompt.
//
// It is run as Hugging Face's transformers runs it: Jinja in its immutable sandbox, with
// trim_blocks and lstrip_blocks, loop controls, `{% generation %}`, `tojson` without escaping for
// HTML, `raise_exception` and `strftime_now`. Output is that of Python's Jinja, byte for byte.
// Values know what of them is content, and so does the prompt.
//
// A template comes with a model file and may be hostile: what it may use is bounded.
#ifndef STRATA_GENERATE_CHAT_JINJA_TEMPLATE_H_
#define STRATA_GENERATE_CHAT_JINJA_TEMPLATE_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/civil_time.h"
#include "strata/generate/chat/jinja/budget.h"
#include "strata/generate/chat/jinja/marked_text.h"
#include "strata/generate/chat/jinja/value.h"

namespace strata::jinja {

struct ParsedTemplate;

// Immutable; Thread-safe.
class Template {
 public:
  struct Options {
    Limits limits;
    absl::CivilSecond now;  // What strftime_now tells.
  };

  // kInvalidArgument, with the line, for what is no template of the language that chat templates
  // use. Bytes that are no UTF-8 are read as U+FFFD.
  static absl::StatusOr<Template> Parse(absl::string_view source);

  Template(Template&&) noexcept;
  Template& operator=(Template&&) noexcept;
  ~Template();

  // What the template writes about `context`, a dict of its variables. kFailedPrecondition with the
  // text of raise_exception alone; kInvalidArgument with the line for an operation that does not
  // exist; kResourceExhausted for a passed limit.
  absl::StatusOr<std::vector<MarkedText::Piece>> Render(const Value& context,
                                                        const Options& options) const;

 private:
  explicit Template(std::unique_ptr<ParsedTemplate> parsed);

  std::unique_ptr<const ParsedTemplate> parsed_;
};

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_TEMPLATE_H_
