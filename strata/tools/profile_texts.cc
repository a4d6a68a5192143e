#include "strata/tools/profile_texts.h"

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "strata/core/checksum.h"
#include "strata/core/error.h"
#include "strata/core/printable.h"
#include "strata/core/status_macros.h"
#include "strata/generate/commands/text_input.h"

namespace strata {
namespace {

std::string LabelOfText(absl::string_view path, absl::string_view text) {
  return SourceLabel(
      path == "-" ? "stdin" : path,
      absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size()));
}

}  // namespace

absl::StatusOr<ProfileShard> ProfileShard::Parse(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '/');
  ProfileShard shard;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &shard.index) ||
      !absl::SimpleAtoi(parts[1], &shard.count) || shard.index < 1 || shard.index > shard.count) {
    return UsageError(absl::StrCat("--shard is ", text, "; it is i/n, with i from 1 to n"));
  }
  return shard;
}

std::string SourceLabel(absl::string_view path, absl::Span<const std::byte> content) {
  constexpr size_t kMaxNameBytes = 200;
  constexpr size_t kHashDigits = 16;
  const absl::string_view name = path.substr(path.rfind('/') + 1);
  return absl::StrCat(Printable(name, kMaxNameBytes), "#",
                      ChecksumOf(content).ToHex().substr(0, kHashDigits));
}

absl::StatusOr<std::vector<ProfileText>> ReadProfileTexts(const std::vector<std::string>& files,
                                                          const std::string& prompts,
                                                          const ProfileShard& shard) {
  std::vector<ProfileText> texts;
  size_t number = 0;
  const auto is_ours = [&] { return number++ % shard.count == shard.index - 1; };
  for (const std::string& path : files) {
    if (!is_ours()) continue;
    ASSIGN_OR_RETURN(std::string text, ReadText(path));
    const std::string label = LabelOfText(path, text);
    texts.push_back({.source = label, .text = std::move(text)});
  }
  if (prompts.empty()) return texts;
  ASSIGN_OR_RETURN(const std::string lines, ReadText(prompts));
  const std::string label = LabelOfText(prompts, lines);
  for (const absl::string_view line : absl::StrSplit(lines, '\n')) {
    const absl::string_view prompt = absl::StripSuffix(line, "\r");
    if (prompt.empty() || !is_ours()) continue;
    texts.push_back({.source = label, .text = std::string(prompt)});
  }
  return texts;
}

}  // namespace strata
