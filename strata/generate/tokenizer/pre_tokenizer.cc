#include "strata/generate/tokenizer/pre_tokenizer.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "strata/core/utf8.h"
#include "strata/generate/tokenizer/pre_tokenizer_table.h"

namespace strata {
namespace {

std::vector<char32_t> CodePointsOf(absl::string_view text) {
  std::vector<char32_t> code_points;
  code_points.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character character = FirstUtf8Character(text);
    code_points.push_back(character.code_point);
    text.remove_prefix(character.num_bytes);
  }
  return code_points;
}

size_t Utf8Length(char32_t code_point) {
  return code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
}

}  // namespace

std::optional<PreTokenizer> PreTokenizer::ForName(absl::string_view name) {
  for (const PreTokenizerRow& row : PreTokenizerTable()) {
    if (std::find(row.names.begin(), row.names.end(), name) == row.names.end()) continue;
    PreTokenizer result;
    result.ignores_merges_ = row.ignores_merges;
    result.adds_bos_ = row.adds_bos;
    for (absl::string_view pattern : row.patterns) result.patterns_.emplace_back(pattern);
    return result;
  }
  return std::nullopt;
}

std::vector<std::string> PreTokenizer::Names() {
  std::vector<std::string> names;
  for (const PreTokenizerRow& row : PreTokenizerTable()) {
    for (const absl::string_view name : row.names) names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<absl::string_view> PreTokenizer::Split(absl::string_view text) const {
  const std::vector<char32_t> code_points = CodePointsOf(text);
  std::vector<size_t> ends = {code_points.size()};
  for (const SplitPattern& pattern : patterns_) {
    std::vector<size_t> finer_ends;
    size_t start = 0;
    for (const size_t end : ends) {
      pattern.Split(absl::MakeConstSpan(code_points).subspan(start, end - start), start,
                    finer_ends);
      start = end;
    }
    ends = std::move(finer_ends);
  }

  std::vector<absl::string_view> pieces;
  pieces.reserve(ends.size());
  size_t start = 0;
  size_t code_point = 0;
  for (const size_t end : ends) {
    size_t num_bytes = 0;
    for (; code_point < end; ++code_point) num_bytes += Utf8Length(code_points[code_point]);
    pieces.push_back(text.substr(start, num_bytes));
    start += num_bytes;
  }
  return pieces;
}

}  // namespace strata
