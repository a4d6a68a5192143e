#include "strata/core/cli/text_table.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"

namespace strata {
namespace {

size_t CodePoints(absl::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

}  // namespace

TextTable::TextTable(absl::string_view alignment) : alignment_(alignment) {
  CHECK_EQ(alignment_.find_first_not_of("lr"), std::string::npos) << alignment_;
}

void TextTable::AddRow(std::vector<std::string> cells) {
  CHECK_EQ(cells.size(), alignment_.size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::ToString(int indent) const {
  std::vector<size_t> widths(alignment_.size(), 0);
  for (const std::vector<std::string>& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], CodePoints(row[i]));
  }
  std::string text;
  for (const std::vector<std::string>& row : rows_) {
    std::string line(indent, ' ');
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - CodePoints(row[i]), ' ');
      absl::StrAppend(&line, i > 0 ? "  " : "", alignment_[i] == 'r' ? padding : "", row[i],
                      alignment_[i] == 'l' ? padding : "");
    }
    absl::StripTrailingAsciiWhitespace(&line);
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

}  // namespace strata
