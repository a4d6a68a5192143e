// libFuzzer target: any bytes as a template, run on a small conversation.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "nlohmann/json.hpp"
#include "strata/core/utf8.h"
#include "strata/generate/chat/jinja/budget.h"
#include "strata/generate/chat/jinja/marked_text.h"
#include "strata/generate/chat/jinja/template.h"
#include "strata/generate/chat/jinja/value.h"
#include "strata/generate/chat/jinja/value_from_json.h"

namespace strata::jinja {
namespace {

Value MakeContext() {
  const auto json = nlohmann::ordered_json::parse(R"({
    "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "\uac00 b\n"}],
    "a": 1, "f": 2.5, "s": "\uac01 text", "l": [3, 1, 2], "d": {"x": "\uac02", "y": [1, null]},
    "tools": [{"function": {"name": "f"}}], "add_generation_prompt": true})");
  const absl::StatusOr<Value> context = ValueFromJson(json, true);
  CHECK(context.ok()) << context.status();
  return *context;
}

// Letters that only content has: none may be outside of a mark, unless the template wrote it.
bool HoldsContent(absl::string_view text) {
  return text.find("\xEA\xB0\x80") != absl::string_view::npos ||
         text.find("\xEA\xB0\x81") != absl::string_view::npos ||
         text.find("\xEA\xB0\x82") != absl::string_view::npos;
}

// Whether the template could write such a letter by itself.
bool MayWriteContent(absl::string_view source) {
  return HoldsContent(source) || source.find('\\') != absl::string_view::npos ||
         source.find('%') != absl::string_view::npos;
}

void RunTemplate(absl::string_view source) {
  static const Value& context = *new Value(MakeContext());
  const absl::StatusOr<Template> parsed = Template::Parse(source);
  if (!parsed.ok()) return;
  Template::Options options;
  options.limits = {.max_steps = 20'000, .max_bytes = 1 << 20, .max_output_bytes = 1 << 16};
  const absl::StatusOr<std::vector<MarkedText::Piece>> pieces = parsed->Render(context, options);
  if (!pieces.ok()) return;
  const bool may_write = MayWriteContent(source);
  for (const MarkedText::Piece& piece : *pieces) {
    CHECK(IsUtf8(piece.text));
    CHECK(piece.is_content || may_write || !HoldsContent(piece.text)) << source;
  }
}

}  // namespace
}  // namespace strata::jinja

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  strata::jinja::RunTemplate(absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
