// A table in plain text: columns as wide as their widest cell, two spaces between them.
#ifndef STRATA_CORE_CLI_TEXT_TABLE_H_
#define STRATA_CORE_CLI_TEXT_TABLE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace strata {

class TextTable {
 public:
  // One letter a column: 'l' for text, 'r' for numbers. Rows have as many cells.
  explicit TextTable(absl::string_view alignment);

  void AddRow(std::vector<std::string> cells);
  // Every line is indented by `indent` spaces and ends in a newline; no line ends in spaces. Widths
  // are counted in code points.
  std::string ToString(int indent = 0) const;

 private:
  const std::string alignment_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace strata

#endif  // STRATA_CORE_CLI_TEXT_TABLE_H_
