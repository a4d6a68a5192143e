#include "strata/core/cli/byte_size.h"

#include <cctype>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "strata/core/error.h"

namespace strata {
namespace {

struct Unit {
  absl::string_view name;
  int64_t bytes;
};

constexpr int64_t kKi = 1024;
constexpr int64_t kK = 1000;
constexpr Unit kUnits[] = {
    {"", 1},
    {"B", 1},
    {"KiB", kKi},
    {"MiB", kKi* kKi},
    {"GiB", kKi* kKi* kKi},
    {"TiB", kKi* kKi* kKi* kKi},
    {"K", kKi},
    {"M", kKi* kKi},
    {"G", kKi* kKi* kKi},
    {"T", kKi* kKi* kKi* kKi},
    {"KB", kK},
    {"MB", kK* kK},
    {"GB", kK* kK* kK},
    {"TB", kK* kK* kK* kK},
};

const Unit* FindUnit(absl::string_view name) {
  for (const Unit& unit : kUnits) {
    if (absl::EqualsIgnoreCase(unit.name, name)) return &unit;
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<int64_t> ParseByteSize(absl::string_view text) {
  const absl::string_view stripped = absl::StripAsciiWhitespace(text);
  const size_t digits = stripped.find_first_not_of("0123456789.");
  const absl::string_view number = stripped.substr(0, digits);
  const absl::string_view unit_name =
      digits == absl::string_view::npos
          ? ""
          : absl::StripLeadingAsciiWhitespace(stripped.substr(digits));
  const Unit* unit = FindUnit(unit_name);
  int64_t whole = 0;
  if (unit != nullptr && absl::SimpleAtoi(number, &whole)) {
    int64_t bytes = 0;
    if (!__builtin_mul_overflow(whole, unit->bytes, &bytes)) return bytes;
  } else if (double value = 0; unit != nullptr && absl::StrContains(number, '.') &&
                               absl::SimpleAtod(number, &value)) {
    const double bytes = std::round(value * static_cast<double>(unit->bytes));
    if (bytes < 9.2e18) return static_cast<int64_t>(bytes);
  }
  return UsageError(
      absl::StrCat("'", text, "' is not a size in bytes: write it as 12GiB, 512MiB or 4096"));
}

std::string FormatByteSize(int64_t bytes) {
  if (bytes < kKi) return absl::StrCat(bytes, " B");
  static constexpr absl::string_view kNames[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / kKi;
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < std::size(kNames)) {
    value /= kKi;
    ++unit;
  }
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return absl::StrFormat("%.*f %s", decimals, value, kNames[unit]);
}

}  // namespace strata
