#include "strata/generate/chat/jinja/lexer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "strata/core/status_macros.h"
#include "strata/generate/chat/jinja/characters.h"
#include "strata/generate/chat/jinja/string_literal.h"

namespace strata::jinja {
namespace {

using absl::string_view;

class Lexer {
 public:
  explicit Lexer(string_view source) : source_(source) {}

  absl::StatusOr<std::vector<Token>> Run();

 private:
  // A tag's opening: "{%", "{{" or "{#", with the sign after it.
  struct Opening {
    size_t begin;
    size_t end;  // After the sign.
    char kind;   // %, { or #.
    char sign;   // -, + or 0.
  };

  Opening FindOpening() const;
  // The end of a "{% raw %}" that starts at `begin`; 0 if none does.
  size_t RawEnd(size_t begin) const;
  // The text before a tag, without the space that the tag takes away.
  string_view TextBefore(string_view text, char sign, bool is_variable) const;
  void AddText(string_view text);
  absl::Status SkipComment();
  absl::Status ReadRaw();
  absl::Status ReadTag(bool is_block);
  // The tag's end if it is here, else 0.
  size_t TagEnd(bool is_block) const;
  absl::Status ReadToken();
  bool ReadNumber();
  absl::Status ReadInteger(string_view text, int base);
  absl::Status ReadString();
  absl::Status ReadOperator();
  // After a comment or a raw block: "%}" and what it takes away. 0 if it is not here.
  size_t CloserEnd(size_t at, string_view closer, bool trims_line) const;

  void Add(Token::Kind kind, string_view text) {
    tokens_.push_back({kind, line_, std::string(text)});
  }
  void MoveTo(size_t at);
  absl::Status Error(string_view message) const {
    return absl::InvalidArgumentError(absl::StrCat("line ", line_, ": ", message));
  }
  string_view Rest() const { return source_.substr(at_); }

  const string_view source_;
  size_t at_ = 0;
  int line_ = 1;
  bool starts_line_ = true;  // The last piece read ended with a line end.
  std::string open_;         // The brackets that are to be closed.
  std::vector<Token> tokens_;
};

void Lexer::MoveTo(size_t at) {
  line_ += static_cast<int>(std::count(source_.begin() + static_cast<ptrdiff_t>(at_),
                                       source_.begin() + static_cast<ptrdiff_t>(at), '\n'));
  at_ = at;
}

void Lexer::AddText(string_view text) {
  if (!text.empty()) Add(Token::Kind::kText, text);
}

Lexer::Opening Lexer::FindOpening() const {
  for (size_t at = source_.find('{', at_); at < source_.size(); at = source_.find('{', at + 1)) {
    if (at + 1 == source_.size()) break;
    const char kind = source_[at + 1];
    if (kind != '%' && kind != '{' && kind != '#') continue;
    const char next = at + 2 < source_.size() ? source_[at + 2] : '\0';
    const bool has_sign = next == '-' || next == '+';
    return {at, at + (has_sign ? 3 : 2), kind, has_sign ? next : '\0'};
  }
  return {source_.size(), source_.size(), '\0', '\0'};
}

string_view Lexer::TextBefore(string_view text, char sign, bool is_variable) const {
  if (sign == '-') return text.substr(0, SkipSpaceBackwards(text, text.size()));
  if (sign == '+' || is_variable) return text;
  const size_t line_end = text.rfind('\n');
  const size_t line = line_end == string_view::npos ? 0 : line_end + 1;
  if (line == 0 && !starts_line_) return text;
  return SkipSpace(text, line) == text.size() ? text.substr(0, line) : text;
}

size_t Lexer::CloserEnd(size_t at, string_view closer, bool trims_line) const {
  const string_view rest = source_.substr(at);
  const auto starts_with = [&](char sign) {
    return !rest.empty() && rest[0] == sign && absl::StartsWith(rest.substr(1), closer);
  };
  if (starts_with('-')) return SkipSpace(source_, at + 1 + closer.size());
  if (trims_line && starts_with('+')) return at + 1 + closer.size();
  if (!absl::StartsWith(rest, closer)) return 0;
  const size_t end = at + closer.size();
  return trims_line && end < source_.size() && source_[end] == '\n' ? end + 1 : end;
}

size_t Lexer::RawEnd(size_t begin) const {
  size_t at = SkipSpace(source_, begin);
  if (!absl::StartsWith(source_.substr(at), "raw")) return 0;
  at = SkipSpace(source_, at + 3);
  return CloserEnd(at, "%}", false);
}

absl::Status Lexer::SkipComment() {
  for (size_t at = at_; at < source_.size(); ++at) {
    const size_t end = CloserEnd(at, "#}", true);
    if (end == 0) continue;
    starts_line_ = source_[end - 1] == '\n';
    MoveTo(end);
    return absl::OkStatus();
  }
  // Nothing at all after the opening is no error to Jinja.
  return at_ == source_.size() ? absl::OkStatus() : Error("a comment is not closed");
}

absl::Status Lexer::ReadRaw() {
  for (size_t begin = source_.find("{%", at_); begin != string_view::npos;
       begin = source_.find("{%", begin + 1)) {
    size_t at = begin + 2;
    const char sign =
        at < source_.size() && (source_[at] == '-' || source_[at] == '+') ? source_[at] : '\0';
    at = SkipSpace(source_, at + (sign != '\0' ? 1 : 0));
    if (!absl::StartsWith(source_.substr(at), "endraw")) continue;
    at = SkipSpace(source_, at + 6);
    const size_t end = CloserEnd(at, "%}", true);
    if (end == 0) continue;
    AddText(TextBefore(source_.substr(at_, begin - at_), sign, false));
    starts_line_ = source_[end - 1] == '\n';
    MoveTo(end);
    return absl::OkStatus();
  }
  return at_ == source_.size() ? absl::OkStatus() : Error("a raw block is not closed");
}

absl::StatusOr<std::vector<Token>> Lexer::Run() {
  while (at_ < source_.size()) {
    const Opening opening = FindOpening();
    if (opening.kind == '\0') {
      AddText(Rest());
      MoveTo(source_.size());
      break;
    }
    const string_view text = source_.substr(at_, opening.begin - at_);
    AddText(TextBefore(text, opening.sign, opening.kind == '{'));
    MoveTo(opening.begin);
    const size_t raw_end = opening.kind == '%' ? RawEnd(opening.end) : 0;
    starts_line_ = raw_end != 0 && source_[raw_end - 1] == '\n';
    MoveTo(raw_end != 0 ? raw_end : opening.end);
    if (raw_end != 0) {
      RETURN_IF_ERROR(ReadRaw());
    } else if (opening.kind == '#') {
      RETURN_IF_ERROR(SkipComment());
    } else {
      RETURN_IF_ERROR(ReadTag(opening.kind == '%'));
    }
  }
  Add(Token::Kind::kEnd, "");
  return std::move(tokens_);
}

size_t Lexer::TagEnd(bool is_block) const {
  if (!open_.empty()) return 0;  // "}}" may close two dicts.
  return is_block ? CloserEnd(at_, "%}", true) : CloserEnd(at_, "}}", false);
}

absl::Status Lexer::ReadTag(bool is_block) {
  Add(is_block ? Token::Kind::kBlockBegin : Token::Kind::kVariableBegin, "");
  while (true) {
    if (const size_t end = TagEnd(is_block); end != 0) {
      Add(is_block ? Token::Kind::kBlockEnd : Token::Kind::kVariableEnd, "");
      starts_line_ = source_[end - 1] == '\n';
      MoveTo(end);
      return absl::OkStatus();
    }
    const size_t token = SkipSpace(source_, at_);
    if (token != at_) {
      MoveTo(token);
      continue;
    }
    if (at_ == source_.size()) return Error("a tag is not closed");
    RETURN_IF_ERROR(ReadToken());
  }
}

absl::Status Lexer::ReadToken() {
  const Character first = CharacterAt(source_, at_);
  if (first.code_point == '\'' || first.code_point == '"') return ReadString();
  if (first.code_point >= '0' && first.code_point <= '9') {
    if (ReadNumber()) return absl::OkStatus();
    const string_view rest = Rest();
    const char kind = rest.size() > 1 && rest[0] == '0'
                          ? absl::ascii_tolower(static_cast<unsigned char>(rest[1]))
                          : '\0';
    if (kind == 'x') return ReadInteger(rest, 16);
    if (kind == 'o') return ReadInteger(rest, 8);
    if (kind == 'b') return ReadInteger(rest, 2);
    return ReadInteger(rest, 10);
  }
  if (StartsName(first.code_point)) {
    size_t end = first.end;
    while (end < source_.size()) {
      const Character next = CharacterAt(source_, end);
      if (!ContinuesName(next.code_point)) break;
      end = next.end;
    }
    Add(Token::Kind::kName, source_.substr(at_, end - at_));
    MoveTo(end);
    return absl::OkStatus();
  }
  return ReadOperator();
}

// The end of digits with single underscores between them, starting at `at`.
size_t DigitsEnd(string_view text, size_t at) {
  const auto is_digit = [&](size_t i) {
    return i < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[i]));
  };
  if (!is_digit(at)) return at;
  while (is_digit(at) || (at < text.size() && text[at] == '_' && is_digit(at + 1))) ++at;
  return at;
}

// A float: digits with a fraction, an exponent or both.
bool Lexer::ReadNumber() {
  if (at_ > 0 && source_[at_ - 1] == '.') return false;
  const string_view rest = Rest();
  size_t end = DigitsEnd(rest, 0);
  bool is_float = false;
  if (end < rest.size() && rest[end] == '.' && DigitsEnd(rest, end + 1) > end + 1) {
    end = DigitsEnd(rest, end + 1);
    is_float = true;
  }
  if (end < rest.size() && (rest[end] == 'e' || rest[end] == 'E')) {
    size_t digits = end + 1;
    if (digits < rest.size() && (rest[digits] == '+' || rest[digits] == '-')) ++digits;
    if (const size_t exponent_end = DigitsEnd(rest, digits); exponent_end > digits) {
      end = exponent_end;
      is_float = true;
    }
  }
  if (!is_float) return false;
  Add(Token::Kind::kFloat, rest.substr(0, end));
  const std::string digits = absl::StrReplaceAll(rest.substr(0, end), {{"_", ""}});
  // Out of range is infinity or zero, as in Python.
  if (!absl::SimpleAtod(digits, &tokens_.back().number)) tokens_.back().number = 0;
  MoveTo(at_ + end);
  return true;
}

absl::Status Lexer::ReadInteger(string_view text, int base) {
  const size_t prefix = base == 10 ? 0 : 2;
  const bool is_zero = base == 10 && text[0] == '0';
  int64_t number = 0;
  size_t end = prefix;
  for (size_t at = prefix; at < text.size(); ++at) {
    if (text[at] == '_' && (at > 0)) continue;  // Counts only before a digit: `end` stays.
    if (end != at && text[at - 1] == '_' && at >= 2 && text[at - 2] == '_') break;
    const auto byte = static_cast<unsigned char>(text[at]);
    int digit = 99;
    if (absl::ascii_isdigit(byte)) digit = byte - '0';
    if (absl::ascii_isalpha(byte)) digit = absl::ascii_tolower(byte) - 'a' + 10;
    if (digit >= base || (is_zero && digit != 0)) break;
    if (__builtin_mul_overflow(number, static_cast<int64_t>(base), &number) ||
        __builtin_add_overflow(number, static_cast<int64_t>(digit), &number)) {
      return Error("an integer does not fit into 64 bits");
    }
    end = at + 1;
  }
  if (end == prefix) end = 1;  // "0x" alone: a zero and a name.
  Add(Token::Kind::kInteger, text.substr(0, end));
  tokens_.back().integer = number;
  MoveTo(at_ + end);
  return absl::OkStatus();
}

absl::Status Lexer::ReadString() {
  const string_view rest = Rest();
  size_t end = 1;
  while (end < rest.size() && rest[end] != rest[0]) end += rest[end] == '\\' ? 2 : 1;
  if (end >= rest.size()) return Error("a text is not closed");
  const absl::StatusOr<std::string> text = UnescapeLiteral(rest.substr(1, end - 1));
  if (!text.ok()) return Error(text.status().message());
  Add(Token::Kind::kString, *text);
  MoveTo(at_ + end + 1);
  return absl::OkStatus();
}

absl::Status Lexer::ReadOperator() {
  constexpr std::array<string_view, 6> kLong = {"//", "**", "==", "!=", ">=", "<="};
  constexpr string_view kShort = "+-/*%~[](){}=><.:|,;";
  const string_view rest = Rest();
  string_view op;
  for (const string_view candidate : kLong) {
    if (absl::StartsWith(rest, candidate)) op = candidate;
  }
  if (op.empty()) {
    if (kShort.find(rest[0]) == string_view::npos) return Error("an unexpected character");
    op = rest.substr(0, 1);
  }
  if (op == "(") open_.push_back(')');
  if (op == "[") open_.push_back(']');
  if (op == "{") open_.push_back('}');
  if (op == ")" || op == "]" || op == "}") {
    if (open_.empty() || open_.back() != op[0]) return Error(absl::StrCat("unexpected '", op, "'"));
    open_.pop_back();
  }
  Add(Token::Kind::kOperator, op);
  MoveTo(at_ + op.size());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Token>> Tokenize(string_view source) {
  std::string text = absl::StrReplaceAll(source, {{"\r\n", "\n"}, {"\r", "\n"}});
  if (absl::EndsWith(text, "\n")) text.pop_back();
  return Lexer(text).Run();
}

}  // namespace strata::jinja
