#include "strata/generate/commands/sampling_flags.h"

#include <cstdint>
#include <optional>

#include "gflags/gflags.h"
#include "strata/core/cli/flag_validators.h"
#include "strata/core/error.h"

DEFINE_double(temperature, 0,
              "0: always the most likely token; higher: more varied. With --chat, unless given: "
              "what the model's file recommends, else 0.7 (and --top_p 0.95, --min_p 0.05).");
DEFINE_int32(top_k, 0, "Draw from so many of the most likely tokens; 0: from all.");
DEFINE_double(top_p, 1, "Draw from the most likely tokens that together have this probability.");
DEFINE_double(min_p, 0, "Draw from tokens at least this probable relative to the likeliest one.");
DEFINE_double(repetition_penalty, 1,
              "Above 1: recent tokens become less likely. Without --model and unless given: 1.2, "
              "over the whole text, since so small a model goes in circles otherwise.");
DEFINE_int32(repetition_window, 64, "How many tokens are recent; 0: all.");
DEFINE_uint64(
    seed, 0,
    "Of the random draws: the same seed gives the same text. Default: random, and printed "
    "by --stats and --json.");

DEFINE_validator(top_k, &strata::IsNotNegative);
DEFINE_validator(repetition_window, &strata::IsNotNegative);

namespace strata {
namespace {

// Beyond these a logit would leave the range of floats.
constexpr double kLeastPenalty = 1e-6;
constexpr double kMost = 1e6;

bool IsGiven(const char* flag) { return !gflags::GetCommandLineFlagInfoOrDie(flag).is_default; }

template <typename T, typename Flag>
std::optional<T> IfGiven(const char* flag, Flag value) {
  return IsGiven(flag) ? std::optional<T>(static_cast<T>(value)) : std::nullopt;
}

}  // namespace

absl::StatusOr<SamplingRequest> SamplingFromFlags() {
  if (!(FLAGS_temperature >= 0 && FLAGS_temperature <= kMost)) {
    return UsageError("--temperature must be from 0 to 1000000");
  }
  if (!(FLAGS_top_p > 0 && FLAGS_top_p <= 1)) {
    return UsageError("--top_p must be above 0 and at most 1");
  }
  if (!(FLAGS_min_p >= 0 && FLAGS_min_p <= 1)) return UsageError("--min_p must be from 0 to 1");
  if (!(FLAGS_repetition_penalty >= kLeastPenalty && FLAGS_repetition_penalty <= kMost)) {
    return UsageError("--repetition_penalty must be from 0.000001 to 1000000");
  }
  return SamplingRequest{
      .temperature = IfGiven<float>("temperature", FLAGS_temperature),
      .top_k = IfGiven<int>("top_k", FLAGS_top_k),
      .top_p = IfGiven<float>("top_p", FLAGS_top_p),
      .min_p = IfGiven<float>("min_p", FLAGS_min_p),
      .repetition_penalty = IfGiven<float>("repetition_penalty", FLAGS_repetition_penalty),
      .repetition_window = IfGiven<int>("repetition_window", FLAGS_repetition_window),
      .seed = IfGiven<uint64_t>("seed", FLAGS_seed)};
}

}  // namespace strata
