#include "strata/generate/chat/jinja/template.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "strata/core/status_macros.h"
#include "strata/core/utf8.h"
#include "strata/generate/chat/jinja/interpreter.h"
#include "strata/generate/chat/jinja/parser.h"
#include "strata/generate/chat/jinja/syntax.h"

namespace strata::jinja {
namespace {

constexpr size_t kMaxSourceBytes = 1 << 20;

}  // namespace

absl::StatusOr<Template> Template::Parse(absl::string_view source) {
  if (source.size() > kMaxSourceBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a template of ", source.size(), " bytes; at most ", kMaxSourceBytes, " are read"));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<ParsedTemplate> parsed,
                   ParseTemplate(ReplaceIllFormedUtf8(source)));
  return Template(std::move(parsed));
}

Template::Template(std::unique_ptr<ParsedTemplate> parsed) : parsed_(std::move(parsed)) {}
Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;
Template::~Template() = default;

absl::StatusOr<std::vector<MarkedText::Piece>> Template::Render(const Value& context,
                                                                const Options& options) const {
  CHECK(context.Is(Value::Kind::kDict));
  Budget budget(options.limits);
  Interpreter interpreter(*parsed_, context, options.now, budget);
  ASSIGN_OR_RETURN(const MarkedText text, interpreter.Run());
  return text.Pieces();
}

}  // namespace strata::jinja
