#include "strata/generate/chat/named_formats.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace strata {

absl::Span<const NamedFormat> NamedFormats() {
  static constexpr NamedFormat kFormats[] = {
#include "strata/generate/chat/named_formats.inc"
  };
  return kFormats;
}

const NamedFormat* FindNamedFormat(absl::string_view name) {
  const absl::Span<const NamedFormat> formats = NamedFormats();
  const auto found = std::find_if(formats.begin(), formats.end(),
                                  [&](const NamedFormat& format) { return format.name == name; });
  return found == formats.end() ? nullptr : &*found;
}

std::string NamedFormatNames() {
  return absl::StrJoin(NamedFormats(), ", ", [](std::string* out, const NamedFormat& format) {
    absl::StrAppend(out, format.name);
  });
}

}  // namespace strata
