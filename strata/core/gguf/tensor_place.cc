#include "strata/core/gguf/tensor_place.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace strata {
namespace {

struct RoleName {
  absl::string_view stem;
  ExpertRole role;
};

constexpr RoleName kMergedRoles[] = {
    {"ffn_gate_exps", ExpertRole::kGate},
    {"ffn_up_exps", ExpertRole::kUp},
    {"ffn_down_exps", ExpertRole::kDown},
    {"ffn_gate_up_exps", ExpertRole::kGateUp},
};

constexpr RoleName kSingleRoles[] = {
    {"ffn_gate", ExpertRole::kGate},
    {"ffn_up", ExpertRole::kUp},
    {"ffn_down", ExpertRole::kDown},
};

constexpr absl::string_view kSharedStems[] = {
    "ffn_gate_shexp", "ffn_up_shexp", "ffn_down_shexp", "ffn_gate_up_shexp", "ffn_gate_inp_shexp",
};

// A decimal number as writers print it: no sign, no leading zero, at most 2^31-1.
std::optional<int> ParseNumber(absl::string_view text) {
  int number = 0;
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit) &&
                     (text == "0" || text[0] != '0');
  if (!plain || !absl::SimpleAtoi(text, &number)) return std::nullopt;
  return number;
}

// Takes the part before the first dot off `text`, and the dot.
absl::string_view ConsumePart(absl::string_view& text) {
  const size_t dot = std::min(text.find('.'), text.size());
  const absl::string_view part = text.substr(0, dot);
  text.remove_prefix(std::min(dot + 1, text.size()));
  return part;
}

const RoleName* FindRole(const RoleName* begin, const RoleName* end, absl::string_view stem) {
  const RoleName* const found =
      std::find_if(begin, end, [&](const RoleName& entry) { return entry.stem == stem; });
  return found == end ? nullptr : found;
}

// `suffix` is what follows the stem: "weight", "bias", or "3.weight" for the third expert's own.
TensorPlace ClassifyFfn(TensorPlace place, const RoleName& single, absl::string_view suffix) {
  const absl::string_view part = ConsumePart(suffix);
  if (suffix.empty() ||
      !(absl::ascii_isdigit(part.empty() ? ' ' : part[0]) || absl::StartsWith(part, "-"))) {
    place.kind = TensorKind::kDenseFfn;
    return place;
  }
  const std::optional<int> expert = ParseNumber(part);
  if (!expert.has_value()) return TensorPlace{.kind = TensorKind::kMalformed};
  place.kind = suffix == "weight" ? TensorKind::kExpert : TensorKind::kExpertCompanion;
  place.role = single.role;
  place.expert = *expert;
  return place;
}

}  // namespace

absl::string_view NameOf(ExpertRole role) {
  switch (role) {
    case ExpertRole::kGate:
      return "gate";
    case ExpertRole::kUp:
      return "up";
    case ExpertRole::kDown:
      return "down";
    case ExpertRole::kGateUp:
      return "gate_up";
  }
  return "";
}

TensorPlace ClassifyTensor(absl::string_view name) {
  if (name == "per_layer_token_embd.weight") return TensorPlace{.kind = TensorKind::kTable};
  if (!absl::ConsumePrefix(&name, "blk.")) return TensorPlace{};
  const std::optional<int> block = ParseNumber(ConsumePart(name));
  if (!block.has_value() || name.empty()) return TensorPlace{.kind = TensorKind::kMalformed};
  TensorPlace place{.kind = TensorKind::kOfBlock, .block = *block};

  absl::string_view suffix = name;
  const absl::string_view stem = ConsumePart(suffix);
  if (const RoleName* merged = FindRole(std::begin(kMergedRoles), std::end(kMergedRoles), stem)) {
    place.kind = suffix == "weight" ? TensorKind::kExpert : TensorKind::kExpertCompanion;
    place.role = merged->role;
  } else if (const RoleName* single =
                 FindRole(std::begin(kSingleRoles), std::end(kSingleRoles), stem)) {
    return ClassifyFfn(place, *single, suffix);
  } else if (name == "ffn_gate_inp.weight") {
    place.kind = TensorKind::kRouter;
  } else if (std::find(std::begin(kSharedStems), std::end(kSharedStems), stem) !=
             std::end(kSharedStems)) {
    place.kind = TensorKind::kSharedExpert;
  } else if (stem == "nextn") {
    place.kind = TensorKind::kNextN;
  }
  return place;
}

bool IsQuantizationScale(absl::string_view name) {
  return absl::EndsWith(name, ".scale") || absl::EndsWith(name, ".input_scale");
}

}  // namespace strata
