#include "strata/generate/chat/jinja/operators.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "strata/core/status_macros.h"
#include "strata/generate/chat/jinja/text_format.h"

namespace strata::jinja {
namespace {

constexpr absl::string_view kSymbols[] = {"+", "-", "*", "/", "//", "%", "**"};

absl::Status NoOperation(Operator op, const Value& a, const Value& b) {
  if (a.IsUndefined()) return absl::InvalidArgumentError(a.undefined_message());
  if (b.IsUndefined()) return absl::InvalidArgumentError(b.undefined_message());
  return absl::InvalidArgumentError(absl::StrCat(TypeName(a), " ", kSymbols[static_cast<int>(op)],
                                                 " ", TypeName(b), " does not exist"));
}

absl::Status Overflow() {
  return absl::InvalidArgumentError("an integer does not fit into 64 bits");
}

absl::Status DivisionByZero() { return absl::InvalidArgumentError("division by zero"); }

// Rounds down, as Python does.
int64_t FloorDivide(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

// The quotient and the rest, which has b's sign, as CPython finds them.
std::pair<double, double> FloorDivide(double a, double b) {
  double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0) {
    if ((b < 0) != (rest < 0)) {
      rest += b;
      quotient -= 1;
    }
  } else {
    rest = std::copysign(0.0, b);
  }
  if (quotient == 0) return {std::copysign(0.0, a / b), rest};
  const double floor = std::floor(quotient);
  return {quotient - floor > 0.5 ? floor + 1 : floor, rest};
}

absl::StatusOr<int64_t> IntegerPower(int64_t base, int64_t exponent) {
  int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) return Overflow();
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return Overflow();
  }
  return result;
}

absl::StatusOr<Value> ApplyFloats(Operator op, double a, double b, bool is_content) {
  const bool divides = op == Operator::kDivide || op == Operator::kFloorDivide ||
                       op == Operator::kModulo || (op == Operator::kPower && a == 0 && b < 0);
  if (divides && (op == Operator::kPower || b == 0)) return DivisionByZero();
  switch (op) {
    case Operator::kAdd:
      return Value::Float(a + b, is_content);
    case Operator::kSubtract:
      return Value::Float(a - b, is_content);
    case Operator::kMultiply:
      return Value::Float(a * b, is_content);
    case Operator::kDivide:
      return Value::Float(a / b, is_content);
    case Operator::kFloorDivide:
      return Value::Float(FloorDivide(a, b).first, is_content);
    case Operator::kModulo:
      return Value::Float(FloorDivide(a, b).second, is_content);
    case Operator::kPower:
      break;
  }
  if (a < 0 && std::isfinite(a) && std::isfinite(b) && b != std::floor(b)) {
    return absl::InvalidArgumentError("a power would be a complex number");
  }
  const double power = std::pow(a, b);
  if (std::isinf(power) && std::isfinite(a) && std::isfinite(b)) {
    return absl::InvalidArgumentError("a power is too large for a float");
  }
  return Value::Float(power, is_content);
}

absl::StatusOr<Value> ApplyIntegers(Operator op, int64_t a, int64_t b, bool is_content) {
  int64_t result = 0;
  switch (op) {
    case Operator::kAdd:
      if (__builtin_add_overflow(a, b, &result)) return Overflow();
      break;
    case Operator::kSubtract:
      if (__builtin_sub_overflow(a, b, &result)) return Overflow();
      break;
    case Operator::kMultiply:
      if (__builtin_mul_overflow(a, b, &result)) return Overflow();
      break;
    case Operator::kDivide:
      if (b == 0) return DivisionByZero();
      return Value::Float(
          static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b)),
          is_content);
    case Operator::kFloorDivide:
    case Operator::kModulo:
      if (b == 0) return DivisionByZero();
      if (a == INT64_MIN && b == -1) {
        if (op == Operator::kFloorDivide) return Overflow();
        break;
      }
      result = op == Operator::kFloorDivide ? FloorDivide(a, b) : a - FloorDivide(a, b) * b;
      break;
    case Operator::kPower: {
      if (b < 0) return ApplyFloats(op, static_cast<double>(a), static_cast<double>(b), is_content);
      ASSIGN_OR_RETURN(result, IntegerPower(a, b));
      break;
    }
  }
  return Value::Int(result, is_content);
}

// `count` is positive. By doubling, since there may be many.
MarkedText RepeatText(const MarkedText& text, int64_t count) {
  MarkedText repeated = text;
  int64_t done = 1;
  while (done < count) {
    const MarkedText copy = repeated;
    const int64_t more = std::min(done, count - done);
    repeated.AppendPart(copy, 0, text.size() * static_cast<size_t>(more));
    done += more;
  }
  return repeated;
}

absl::StatusOr<Value> Repeat(const Value& value, int64_t count, Budget& budget) {
  const auto size = static_cast<int64_t>(value.IsString() ? value.marked_text().bytes()
                                                          : value.items().size() * sizeof(Value));
  if (size == 0) return value;
  count = std::max<int64_t>(count, 0);
  const int64_t max_count = budget.limits().max_bytes / size;
  if (!budget.HasRoomFor(size * std::min(count, max_count + 1))) return budget.status();
  if (value.IsString()) {
    MarkedText text = count == 0 ? MarkedText() : RepeatText(value.marked_text(), count);
    return Value::StringLike(value, std::move(text), &budget);
  }
  std::vector<Value> items;
  items.reserve(value.items().size() * static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    items.insert(items.end(), value.items().begin(), value.items().end());
  }
  return value.Is(Value::Kind::kList) ? Value::List(std::move(items), &budget, value.is_content())
                                      : Value::Tuple(std::move(items), &budget, value.is_content());
}

absl::StatusOr<Value> AddStrings(const Value& a, const Value& b, Budget& budget) {
  MarkedText text;
  if (!a.IsMarkup() && !b.IsMarkup()) {
    text = a.marked_text();
    text.Append(b.marked_text());
    return Value::String(std::move(text), &budget);
  }
  ASSIGN_OR_RETURN(text, EscapedText(a, budget));
  ASSIGN_OR_RETURN(const MarkedText right, EscapedText(b, budget));
  text.Append(right);
  return Value::Markup(std::move(text), &budget);
}

absl::StatusOr<Value> AddSequences(const Value& a, const Value& b, Budget& budget) {
  std::vector<Value> items = a.items();
  items.insert(items.end(), b.items().begin(), b.items().end());
  const bool is_content = a.is_content() && b.is_content();
  return a.Is(Value::Kind::kList) ? Value::List(std::move(items), &budget, is_content)
                                  : Value::Tuple(std::move(items), &budget, is_content);
}

bool CanRepeat(const Value& value) { return value.IsString() || value.IsSequence(); }

}  // namespace

absl::StatusOr<Value> Apply(Operator op, const Value& a, const Value& b, Budget& budget) {
  if (a.IsNumber() && b.IsNumber()) {
    const bool is_content = a.is_content() || b.is_content();
    if (a.IsIntegral() && b.IsIntegral()) {
      return ApplyIntegers(op, a.int_value(), b.int_value(), is_content);
    }
    return ApplyFloats(op, a.number(), b.number(), is_content);
  }
  if (op == Operator::kModulo && a.IsString()) {
    return FormatPercent(a, b, budget);
  }
  if (op == Operator::kAdd && a.IsString() && b.IsString()) return AddStrings(a, b, budget);
  if (op == Operator::kAdd && a.IsSequence() && a.kind() == b.kind()) {
    return AddSequences(a, b, budget);
  }
  if (op == Operator::kMultiply && CanRepeat(a) && b.IsIntegral()) {
    return Repeat(a, b.int_value(), budget);
  }
  if (op == Operator::kMultiply && CanRepeat(b) && a.IsIntegral()) {
    return Repeat(b, a.int_value(), budget);
  }
  return NoOperation(op, a, b);
}

absl::StatusOr<Value> Negate(const Value& value) {
  if (value.Is(Value::Kind::kFloat)) {
    return Value::Float(-value.float_value(), value.is_content());
  }
  ASSIGN_OR_RETURN(const Value number, Plus(value));
  if (number.int_value() == INT64_MIN) return Overflow();
  return Value::Int(-number.int_value(), value.is_content());
}

absl::StatusOr<Value> Plus(const Value& value) {
  if (value.IsUndefined()) return absl::InvalidArgumentError(value.undefined_message());
  if (!value.IsNumber()) {
    return absl::InvalidArgumentError(absl::StrCat("a ", TypeName(value), " has no sign"));
  }
  return value.IsIntegral() ? Value::Int(value.int_value(), value.is_content()) : value;
}

}  // namespace strata::jinja
