// A chat template with the place that it comes from: runs it, and says whose fault an error is.
#ifndef STRATA_GENERATE_CHAT_PROMPT_TEMPLATE_H_
#define STRATA_GENERATE_CHAT_PROMPT_TEMPLATE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/civil_time.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/generate/chat/jinja/template.h"
#include "strata/generate/chat/jinja/value.h"
#include "strata/generate/tokenizer/text_piece.h"

namespace strata {

// Immutable; Thread-safe.
class PromptTemplate {
 public:
  // What the file has in `tokenizer.chat_template`, or for conversations with tools in
  // `tokenizer.chat_template.tool_use` where there is one. An InputError of kind chat_template when
  // it has none, key_type when that is no text, and the errors of Parse.
  static absl::StatusOr<PromptTemplate> OfFile(const GgufFile& file, bool has_tools);
  // One of NamedFormats(); a UsageError that lists them if there is none of that name.
  static absl::StatusOr<PromptTemplate> Named(absl::string_view name);
  // `file` is what errors name. Kind chat_template for what is no template.
  static absl::StatusOr<PromptTemplate> Parse(absl::string_view source, std::string file);

  // What it writes about `variables`, a dict, at the time `now`: content as such, and all else as
  // text in which special tokens count. Kind template_refused, with the template's own words, for
  // what it raises, and chat_template for what cannot be run.
  absl::StatusOr<std::vector<TextPiece>> Render(const jinja::Value& variables,
                                                absl::CivilSecond now) const;

 private:
  PromptTemplate(jinja::Template parsed, std::string file);

  jinja::Template template_;
  std::string file_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_CHAT_PROMPT_TEMPLATE_H_
