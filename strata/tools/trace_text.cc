#include "strata/tools/trace_text.h"

#include <cstddef>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/experts/routed_step.h"
#include "strata/cache/policy/landing_rule.h"
#include "strata/cache/trace/trace_records.h"

namespace strata {
namespace {

std::string Name(const ExpertGeometry& geometry, int number) {
  if (number < 0) return "none";
  const ExpertId id = geometry.IdOf(number);
  return absl::StrCat(id.layer, ".", id.index);
}

absl::string_view NameOf(TraceResidency::Cause cause) {
  switch (cause) {
    case TraceResidency::Cause::kFill:
      return "fill";
    case TraceResidency::Cause::kSwap:
      return "swap";
    case TraceResidency::Cause::kLend:
      return "lend";
    case TraceResidency::Cause::kRefill:
      return "refill";
    case TraceResidency::Cause::kLanding:
      return "landing";
  }
  LOG(FATAL) << "no such cause: " << static_cast<int>(cause);
}

struct RecordText {
  const ExpertGeometry& geometry;

  std::string operator()(const RoutedStep& step) const {
    std::string line =
        absl::StrCat("step number=", step.number,
                     " kind=", step.kind == RoutedStep::Kind::kPrompt ? "prompt" : "decode",
                     " position=", step.first_position, " tokens=", step.num_tokens,
                     " accepted=", step.num_accepted);
    for (size_t layer = 0; layer < geometry.layers().size(); ++layer) {
      absl::StrAppend(&line, " b", geometry.layers()[layer].block, "=");
      for (int token = 0; token < step.num_tokens; ++token) {
        absl::StrAppend(&line, token > 0 ? "/" : "",
                        absl::StrJoin(step.Chosen(geometry, layer, token), ","));
      }
    }
    return absl::StrCat(line, "\n");
  }
  std::string operator()(const TraceRates& rates) const {
    return absl::StrCat("rates after=", rates.step, " copy_bytes_per_ns=", rates.copy_bytes_per_ns,
                        " miss_fixed_ns=", rates.miss_fixed_ns,
                        " miss_ns_per_byte=", rates.miss_ns_per_byte, "\n");
  }
  std::string operator()(const TraceSwap& swap) const {
    return absl::StrCat("swap after=", swap.step, " newcomer=", Name(geometry, swap.newcomer),
                        " victim=", Name(geometry, swap.victim),
                        " saving_ns=", swap.predicted_saving_ns, "\n");
  }
  std::string operator()(const TraceResidency& change) const {
    return absl::StrCat(change.resident ? "came" : "left", " from=", change.step,
                        " expert=", Name(geometry, change.expert), " slot=", change.slot,
                        " cause=", NameOf(change.cause), "\n");
  }
  std::string operator()(const TraceLandings& landings) const {
    std::string line =
        absl::StrCat("landings step=", landings.step, " offered=", landings.num_offered);
    for (const TraceLandings::Landed& landed : landings.landed) {
      absl::StrAppend(&line, " ", Name(geometry, landed.expert), ":", landed.slot);
    }
    return absl::StrCat(line, "\n");
  }
};

}  // namespace

std::string TraceHeaderText(const TraceHeader& header) {
  const ExpertGeometry& geometry = header.identity.geometry;
  const TierSettings& tier = header.tier;
  std::string text =
      absl::StrCat("model layers=", geometry.layers().size(), " experts=", geometry.num_experts(),
                   " used=", geometry.num_used(), " routers=", header.identity.routers.ToHex(),
                   " experts_layout=", header.identity.experts.ToHex(), "\n");
  absl::StrAppend(&text, "policy adapt_every=", tier.adapt_every, " max_swaps=", tier.max_swaps,
                  " max_bytes=", tier.max_bytes, " decay=", tier.decay, " margin=", tier.margin,
                  " ranked=", tier.ranking.size(), " seeded=", tier.seed_counts.size(), "\n");
  if (tier.offered_share > 0) {
    absl::StrAppend(&text, "landing share=", tier.offered_share,
                    " rule=", NameOf(tier.landing_rule),
                    " classes=", absl::StrJoin(tier.landing_classes, ","),
                    " offered=", absl::StrJoin(tier.num_offered, ","), "\n");
  }
  for (size_t slot = 0; slot < tier.slots.size(); ++slot) {
    absl::StrAppend(&text, "slot number=", slot, " bytes=", tier.slots[slot].blob_bytes,
                    " expert=", Name(geometry, tier.slots[slot].expert), "\n");
  }
  for (const auto& [key, value] : tier.notes) {
    absl::StrAppend(&text, "note ", key, "=", value, "\n");
  }
  return text;
}

std::string TraceRecordText(const ExpertGeometry& geometry, const TraceRecord& record) {
  return std::visit(RecordText{geometry}, record);
}

}  // namespace strata
