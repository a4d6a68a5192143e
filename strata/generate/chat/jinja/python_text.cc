#include "strata/generate/chat/jinja/python_text.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "strata/core/status_macros.h"
#include "strata/generate/chat/jinja/characters.h"
#include "strata/generate/chat/jinja/loop_object.h"
#include "strata/generate/chat/jinja/runtime_objects.h"

namespace strata::jinja {
namespace {

// Writes one value and all that is in it.
class ReprWriter {
 public:
  explicit ReprWriter(Budget& budget) : budget_(budget) {}

  absl::Status Write(const Value& value);
  MarkedText TakeText() { return std::move(text_); }

 private:
  absl::Status WriteSequence(const Value& value);
  absl::Status WriteDict(const Value& value);
  absl::Status WriteView(const DictViewObject& view);
  absl::Status WriteNamespace(const NamespaceObject& space);
  absl::Status WriteEntry(const Value& key, const Value& value, bool is_content);
  void WriteString(const Value& value);
  // One that Python writes otherwise than by itself.
  std::string Escape(char32_t code_point) const;

  Budget& budget_;
  MarkedText text_;
  int depth_ = 0;  // Namespaces may hold themselves.
};

absl::Status ReprWriter::Write(const Value& value) {
  if (!budget_.Step()) return budget_.status();
  if (!budget_.HasRoomFor(static_cast<int64_t>(text_.size()))) return budget_.status();
  if (depth_ > 2 * kMaxValueDepth) {
    return absl::ResourceExhaustedError("a value that holds itself cannot be printed");
  }
  const bool is_content = value.is_content();
  switch (value.kind()) {
    case Value::Kind::kUndefined:
      text_.Append("Undefined", false);
      return absl::OkStatus();
    case Value::Kind::kNone:
      text_.Append("None", is_content);
      return absl::OkStatus();
    case Value::Kind::kBool:
      text_.Append(value.bool_value() ? "True" : "False", is_content);
      return absl::OkStatus();
    case Value::Kind::kInt:
      text_.Append(absl::StrCat(value.int_value()), is_content);
      return absl::OkStatus();
    case Value::Kind::kFloat:
      text_.Append(FloatText(value.float_value()), is_content);
      return absl::OkStatus();
    case Value::Kind::kString:
      WriteString(value);
      return absl::OkStatus();
    case Value::Kind::kList:
    case Value::Kind::kTuple:
      return WriteSequence(value);
    case Value::Kind::kDict:
      return WriteDict(value);
    case Value::Kind::kRange: {
      const RangeObject& range = value.object<RangeObject>();
      text_.Append(absl::StrCat("range(", range.start, ", ", range.stop,
                                range.step == 1 ? "" : absl::StrCat(", ", range.step), ")"),
                   is_content);
      return absl::OkStatus();
    }
    case Value::Kind::kDictView:
      return WriteView(value.object<DictViewObject>());
    case Value::Kind::kNamespace:
      return WriteNamespace(value.object<NamespaceReference>().target);
    case Value::Kind::kLoop: {
      LoopObject& loop = value.object<LoopObject>();
      ASSIGN_OR_RETURN(const int64_t length, loop.Length());
      text_.Append(absl::StrCat("<LoopContext ", loop.index0() + 1, "/", length, ">"), false);
      return absl::OkStatus();
    }
    default:
      return absl::InvalidArgumentError(absl::StrCat("a ", TypeName(value), " has no text"));
  }
}

absl::Status ReprWriter::WriteSequence(const Value& value) {
  const bool is_list = value.Is(Value::Kind::kList);
  const bool is_content = value.is_content();
  text_.Append(is_list ? "[" : "(", is_content);
  ++depth_;
  for (size_t i = 0; i < value.items().size(); ++i) {
    if (i > 0) text_.Append(", ", is_content);
    RETURN_IF_ERROR(Write(value.items()[i]));
  }
  --depth_;
  if (!is_list && value.items().size() == 1) text_.Append(",", is_content);
  text_.Append(is_list ? "]" : ")", is_content);
  return absl::OkStatus();
}

absl::Status ReprWriter::WriteEntry(const Value& key, const Value& value, bool is_content) {
  RETURN_IF_ERROR(Write(key));
  text_.Append(": ", is_content);
  return Write(value);
}

absl::Status ReprWriter::WriteDict(const Value& value) {
  const bool is_content = value.is_content();
  text_.Append("{", is_content);
  ++depth_;
  bool is_first = true;
  for (const auto& [key, item] : value.dict().entries()) {
    if (!is_first) text_.Append(", ", is_content);
    is_first = false;
    RETURN_IF_ERROR(WriteEntry(key, item, is_content));
  }
  --depth_;
  text_.Append("}", is_content);
  return absl::OkStatus();
}

absl::Status ReprWriter::WriteView(const DictViewObject& view) {
  const bool is_content = view.dict.is_content();
  constexpr absl::string_view kNames[] = {"dict_keys([", "dict_values([", "dict_items(["};
  text_.Append(kNames[static_cast<int>(view.part)], is_content);
  bool is_first = true;
  for (const auto& [key, item] : view.dict.dict().entries()) {
    if (!is_first) text_.Append(", ", is_content);
    is_first = false;
    if (view.part == DictViewObject::Part::kItems) text_.Append("(", is_content);
    if (view.part != DictViewObject::Part::kValues) RETURN_IF_ERROR(Write(key));
    if (view.part == DictViewObject::Part::kItems) text_.Append(", ", is_content);
    if (view.part != DictViewObject::Part::kKeys) RETURN_IF_ERROR(Write(item));
    if (view.part == DictViewObject::Part::kItems) text_.Append(")", is_content);
  }
  text_.Append("])", is_content);
  return absl::OkStatus();
}

absl::Status ReprWriter::WriteNamespace(const NamespaceObject& space) {
  text_.Append("<Namespace {", false);
  ++depth_;
  bool is_first = true;
  for (const auto& [name, value] : space.attributes) {
    if (!is_first) text_.Append(", ", false);
    is_first = false;
    RETURN_IF_ERROR(WriteEntry(Value::String(name, space.names_are_content), value, false));
  }
  --depth_;
  text_.Append("}>", false);
  return absl::OkStatus();
}

std::string ReprWriter::Escape(char32_t code_point) const {
  switch (code_point) {
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      break;
  }
  const auto number = static_cast<uint32_t>(code_point);
  if (number < 0x100) return absl::StrFormat("\\x%02x", number);
  if (number < 0x10000) return absl::StrFormat("\\u%04x", number);
  return absl::StrFormat("\\U%08x", number);
}

void ReprWriter::WriteString(const Value& value) {
  const MarkedText& text = value.marked_text();
  const bool has_single = text.text().find('\'') != std::string::npos;
  const bool has_double = text.text().find('"') != std::string::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  // The quotes have the mark of what is between them.
  const bool starts_content = !text.empty() && text.IsContentAt(0);
  const bool ends_content = !text.empty() && text.IsContentAt(text.size() - 1);
  if (value.IsMarkup()) text_.Append("Markup(", false);
  text_.Append(absl::string_view(&quote, 1), starts_content);
  size_t plain = 0;
  for (size_t at = 0; at < text.size();) {
    const Character character = CharacterAt(text.text(), at);
    const char32_t c = character.code_point;
    at = character.end;
    const bool is_quote = c == static_cast<unsigned char>(quote);
    if (!is_quote && c != '\\' && IsPrintable(c)) continue;
    text_.AppendPart(text, plain, character.begin);
    plain = character.end;
    text_.Append(is_quote ? absl::StrCat("\\", std::string(1, quote)) : Escape(c),
                 text.IsContentAt(character.begin));
  }
  text_.AppendPart(text, plain, text.size());
  text_.Append(absl::string_view(&quote, 1), ends_content);
  if (value.IsMarkup()) text_.Append(")", false);
  budget_.HandleBytes(static_cast<int64_t>(text.size()));
}

}  // namespace

absl::StatusOr<MarkedText> TextOf(const Value& value, Budget& budget) {
  if (value.IsString()) return value.marked_text();
  if (value.IsUndefined()) return MarkedText();
  return ReprOf(value, budget);
}

absl::StatusOr<Value> SoftString(const Value& value, Budget& budget) {
  if (value.IsString()) return value;
  ASSIGN_OR_RETURN(MarkedText text, TextOf(value, budget));
  return Value::String(std::move(text), &budget);
}

absl::StatusOr<MarkedText> ReprOf(const Value& value, Budget& budget) {
  ReprWriter writer(budget);
  RETURN_IF_ERROR(writer.Write(value));
  return writer.TakeText();
}

std::string FloatText(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  char shortest[40];
  const std::to_chars_result end =
      std::to_chars(shortest, shortest + sizeof shortest, number, std::chars_format::scientific);
  const absl::string_view text(shortest, static_cast<size_t>(end.ptr - shortest));
  const int exponent = std::atoi(std::string(text.substr(text.find('e') + 1)).c_str());
  if (exponent < -4 || exponent >= 16) return std::string(text);
  char fixed[64];
  const std::to_chars_result fixed_end =
      std::to_chars(fixed, fixed + sizeof fixed, number, std::chars_format::fixed);
  std::string result(fixed, static_cast<size_t>(fixed_end.ptr - fixed));
  if (result.find('.') == std::string::npos) result += ".0";
  return result;
}

}  // namespace strata::jinja
