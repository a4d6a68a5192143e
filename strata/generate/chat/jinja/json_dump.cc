#include "strata/generate/chat/jinja/json_dump.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "strata/core/status_macros.h"
#include "strata/generate/chat/jinja/characters.h"
#include "strata/generate/chat/jinja/compare.h"
#include "strata/generate/chat/jinja/python_text.h"

namespace strata::jinja {
namespace {

std::string JsonNumber(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number < 0 ? "-Infinity" : "Infinity";
  return FloatText(number);
}

class JsonWriter {
 public:
  JsonWriter(const JsonOptions& options, Budget& budget) : options_(options), budget_(budget) {}

  absl::Status Write(const Value& value);
  MarkedText TakeText() { return std::move(text_); }

 private:
  absl::Status WriteList(const Value& value);
  absl::Status WriteDict(const Value& value);
  void WriteString(const MarkedText& text);
  void WriteSeparator(const MarkedText& separator, bool is_content);
  void WriteLineEnd(bool is_content);

  const JsonOptions& options_;
  Budget& budget_;
  MarkedText text_;
  int level_ = 0;
};

// The text of a scalar that is no string; empty for anything else.
std::string ScalarText(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kNone:
      return "null";
    case Value::Kind::kBool:
      return value.bool_value() ? "true" : "false";
    case Value::Kind::kInt:
      return absl::StrCat(value.int_value());
    case Value::Kind::kFloat:
      return JsonNumber(value.float_value());
    default:
      return "";
  }
}

absl::Status JsonWriter::Write(const Value& value) {
  if (!budget_.Step() || !budget_.HasRoomFor(static_cast<int64_t>(text_.bytes()))) {
    return budget_.status();
  }
  if (value.IsString()) {
    WriteString(value.marked_text());
    return absl::OkStatus();
  }
  if (value.IsSequence()) return WriteList(value);
  if (value.Is(Value::Kind::kDict)) return WriteDict(value);
  const std::string scalar = ScalarText(value);
  if (scalar.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("tojson: ", TypeName(value), " is not JSON"));
  }
  text_.Append(scalar, value.is_content());
  return absl::OkStatus();
}

void JsonWriter::WriteSeparator(const MarkedText& separator, bool is_content) {
  if (is_content) {
    text_.Append(separator.text(), true);
  } else {
    text_.Append(separator);
  }
}

void JsonWriter::WriteLineEnd(bool is_content) {
  if (!options_.indent.has_value()) return;
  text_.Append("\n", is_content);
  for (int i = 0; i < level_; ++i) WriteSeparator(*options_.indent, is_content);
}

absl::Status JsonWriter::WriteList(const Value& value) {
  const bool is_content = value.is_content();
  if (value.items().empty()) {
    text_.Append("[]", is_content);
    return absl::OkStatus();
  }
  text_.Append("[", is_content);
  ++level_;
  WriteLineEnd(is_content);
  for (size_t i = 0; i < value.items().size(); ++i) {
    if (i > 0) {
      WriteSeparator(options_.item_separator, is_content);
      WriteLineEnd(is_content);
    }
    RETURN_IF_ERROR(Write(value.items()[i]));
  }
  --level_;
  WriteLineEnd(is_content);
  text_.Append("]", is_content);
  return absl::OkStatus();
}

absl::Status JsonWriter::WriteDict(const Value& value) {
  const bool is_content = value.is_content();
  std::vector<Value> keys;
  for (const auto& entry : value.dict().entries()) keys.push_back(entry.first);
  if (options_.sorts_keys) {
    ASSIGN_OR_RETURN(keys, SortedBy(keys, keys, false, budget_));
  }
  if (keys.empty()) {
    text_.Append("{}", is_content);
    return absl::OkStatus();
  }
  text_.Append("{", is_content);
  ++level_;
  WriteLineEnd(is_content);
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i > 0) {
      WriteSeparator(options_.item_separator, is_content);
      WriteLineEnd(is_content);
    }
    if (keys[i].IsString()) {
      WriteString(keys[i].marked_text());
    } else {
      const std::string key = ScalarText(keys[i]);
      if (key.empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat("tojson: a ", TypeName(keys[i]), " cannot be a key"));
      }
      WriteString(MarkedText(key, keys[i].is_content()));
    }
    WriteSeparator(options_.key_separator, is_content);
    RETURN_IF_ERROR(Write(*value.dict().Find(keys[i])));
  }
  --level_;
  WriteLineEnd(is_content);
  text_.Append("}", is_content);
  return absl::OkStatus();
}

// Empty if the character stands for itself.
std::string JsonEscape(char32_t c, bool ascii_only) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\f':
      return "\\f";
    case '\b':
      return "\\b";
    default:
      break;
  }
  const auto number = static_cast<uint32_t>(c);
  if (number >= 0x20 && (number < 0x7F || !ascii_only)) return "";
  if (number < 0x10000) return absl::StrFormat("\\u%04x", number);
  const uint32_t rest = number - 0x10000;
  return absl::StrFormat("\\u%04x\\u%04x", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
}

void JsonWriter::WriteString(const MarkedText& text) {
  // The quotes have the mark of what is between them.
  text_.Append("\"", !text.empty() && text.IsContentAt(0));
  size_t plain = 0;
  for (size_t at = 0; at < text.size();) {
    const Character character = CharacterAt(text.text(), at);
    at = character.end;
    const std::string escape = JsonEscape(character.code_point, options_.ascii_only);
    if (escape.empty()) continue;
    text_.AppendPart(text, plain, character.begin);
    text_.Append(escape, text.IsContentAt(character.begin));
    plain = at;
  }
  text_.AppendPart(text, plain, text.size());
  text_.Append("\"", !text.empty() && text.IsContentAt(text.size() - 1));
  budget_.HandleBytes(static_cast<int64_t>(text.size()));
}

}  // namespace

absl::StatusOr<MarkedText> DumpJson(const Value& value, const JsonOptions& options,
                                    Budget& budget) {
  JsonWriter writer(options, budget);
  RETURN_IF_ERROR(writer.Write(value));
  return writer.TakeText();
}

}  // namespace strata::jinja
