#include "strata/generate/commands/expert_flags.h"

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gflags/gflags.h"
#include "strata/cache/host/host_placement.h"
#include "strata/cache/policy/landing_pools.h"
#include "strata/cache/policy/landing_rule.h"
#include "strata/cache/policy/slot_plan.h"
#include "strata/cache/policy/swap_policy.h"
#include "strata/cache/tier/expert_mover.h"
#include "strata/core/cli/byte_size.h"
#include "strata/core/cli/flag_help.h"
#include "strata/core/cli/flag_validators.h"
#include "strata/core/error.h"
#include "strata/core/status_macros.h"
#include "strata/generate/placement/expert_placement.h"

DEFINE_string(expert_cache, "auto",
              "Experts held in slots of device memory: a number, a share (25%), bytes (8GiB), or "
              "auto. On the CPU auto is none: slots are no faster there.");
DEFINE_string(
    expert_profile, "",
    "A profile of the model's experts (profile_build makes one): the hottest fill the slots.");
DEFINE_string(pack, "",
              "A pack of the model (pack_build --layout): experts are read from it, each in one "
              "piece.");
DEFINE_string(
    prefill, "auto",
    "Fill the slots: on (before the first token), off, or auto (while the first tokens are "
    "computed, where a profile says with what or nothing adapts).");
DEFINE_string(verify, "sample",
              "Which slots are read back after they were filled and compared with what was copied: "
              "first, sample (the first, and one in 16) or all.");
DEFINE_int32(
    lend, 0,
    "Slots that each prompt borrows as working memory; they are refilled after its first token.");
DEFINE_int32(adapt_every, 4, "Steps between two rounds of swaps.");
DEFINE_int32(adapt_swaps, 32, "Swaps of a round at most; 0: slots do not follow the text.");
DEFINE_bool(landing, true,
            "On a GPU experts that have no slot are stored in one while they are read over the "
            "link; otherwise they come by copies (--adapt_every, --adapt_swaps).");
DEFINE_string(
    landing_rule, "adaptive",
    "Which of them stay: adaptive (decayed counts) or learned (a model of what is used next: "
    "fewer misses where the text's topic changes, more where it does not).");
DEFINE_string(
    miss, "read",
    "On a GPU, who computes an expert that has no slot: read (the GPU, over the link), cpu "
    "(the CPU where it lies, while the GPU computes the others), stage (the GPU, when it "
    "has been copied there) or auto (read or cpu, what is faster while the model runs). Of "
    "steps of one token; prompts read.");
DEFINE_double(adapt_decay, 0.99, "Weight that a use keeps after each round, from 0 to below 1.");
DEFINE_string(adapt_bytes, "", "What a round's swaps may copy, like 64MiB. Default: no limit.");
DEFINE_string(
    expert_source, "auto",
    "Where experts without a slot are read: registered (the file, pinned in place), arena "
    "(pinned copies), stage (read when used), pageable (the plain mapping) or auto.");
DEFINE_bool(mmap_experts, false, "No arena: experts stay in the file's mapping.");
DEFINE_string(host_experts, "", "Size of the arena, at most, like 24GiB. Default: no limit.");
DEFINE_string(pin_budget, "",
              "Host memory to pin, at most, like 48GiB. Default: what the machine allows.");
DEFINE_string(stage_memory, "pinned", "What stages are made of: pinned or pageable.");
DEFINE_string(dump_routing, "", "Write what each step chose and what the slots did to this file.");

DEFINE_validator(lend, &strata::IsNotNegative);
DEFINE_validator(adapt_every, &strata::IsPositive);
DEFINE_validator(adapt_swaps, &strata::IsNotNegative);
DEFINE_validator(adapt_bytes, &strata::IsByteSize);
DEFINE_validator(host_experts, &strata::IsMemorySize);
DEFINE_validator(pin_budget, &strata::IsMemorySize);

namespace strata {
namespace {

absl::Status UnknownValue(absl::string_view flag, absl::string_view value,
                          absl::string_view known) {
  return UsageError(absl::StrCat("--", flag, " is ", value, "; known are ", known));
}

absl::StatusOr<ExpertPlacement::Prefill> ParsePrefill() {
  if (FLAGS_prefill == "auto") return ExpertPlacement::Prefill::kAuto;
  if (FLAGS_prefill == "on") return ExpertPlacement::Prefill::kOn;
  if (FLAGS_prefill == "off") return ExpertPlacement::Prefill::kOff;
  return UnknownValue("prefill", FLAGS_prefill, "auto, on and off");
}

absl::StatusOr<ExpertPlacement::Misses> ParseMiss() {
  if (FLAGS_miss == "read") return ExpertPlacement::Misses::kRead;
  if (FLAGS_miss == "cpu") return ExpertPlacement::Misses::kCpu;
  if (FLAGS_miss == "stage") return ExpertPlacement::Misses::kStage;
  if (FLAGS_miss == "auto") return ExpertPlacement::Misses::kAuto;
  return UnknownValue("miss", FLAGS_miss, "read, cpu, stage and auto");
}

absl::StatusOr<SlotVerify> ParseVerify() {
  if (FLAGS_verify == "first") return SlotVerify::kFirst;
  if (FLAGS_verify == "sample") return SlotVerify::kSample;
  if (FLAGS_verify == "all") return SlotVerify::kAll;
  return UnknownValue("verify", FLAGS_verify, "first, sample and all");
}

absl::StatusOr<SwapPolicy::Options> ParseSwaps() {
  SwapPolicy::Options swaps = {
      .adapt_every = FLAGS_adapt_every, .max_swaps = FLAGS_adapt_swaps, .decay = FLAGS_adapt_decay};
  if (!(FLAGS_adapt_decay >= 0 && FLAGS_adapt_decay < 1)) {
    return UsageError("--adapt_decay must be at least 0 and below 1");
  }
  if (!FLAGS_adapt_bytes.empty()) {
    ASSIGN_OR_RETURN(swaps.max_bytes, ParseByteSize(FLAGS_adapt_bytes));
  }
  return swaps;
}

absl::StatusOr<HostPlacement::Options> ParseHost() {
  HostPlacement::Options host;
  const std::optional<HostPlacement::Choice> choice =
      HostPlacement::ParseChoice(FLAGS_expert_source);
  if (!choice.has_value()) {
    return UnknownValue("expert_source", FLAGS_expert_source,
                        "auto, registered, arena, stage and pageable");
  }
  host.choice = *choice;
  host.may_use_arena = !FLAGS_mmap_experts;
  if (FLAGS_mmap_experts && host.choice == HostPlacement::Choice::kArena) {
    return UsageError("--mmap_experts leaves out the arena that --expert_source=arena asks for");
  }
  if (!FLAGS_host_experts.empty()) {
    ASSIGN_OR_RETURN(host.max_arena_bytes, ParseByteSize(FLAGS_host_experts));
  }
  if (!FLAGS_pin_budget.empty()) {
    ASSIGN_OR_RETURN(host.pin_budget, ParseByteSize(FLAGS_pin_budget));
  }
  host.pinned_stages = FLAGS_stage_memory == "pinned";
  if (!host.pinned_stages && FLAGS_stage_memory != "pageable") {
    return UnknownValue("stage_memory", FLAGS_stage_memory, "pinned and pageable");
  }
  return host;
}

}  // namespace

absl::StatusOr<ExpertPlacement::Options> ExpertOptionsFromFlags() {
  ExpertPlacement::Options options = {.profile = FLAGS_expert_profile,
                                      .pack = FLAGS_pack,
                                      .lend = FLAGS_lend,
                                      .dump_routing = FLAGS_dump_routing};
  if (FLAGS_expert_cache != "auto") {
    const absl::StatusOr<SlotBudget> cache = SlotBudget::Parse(FLAGS_expert_cache);
    if (!cache.ok()) {
      return UsageError(absl::StrCat("--expert_cache: ", cache.status().message()));
    }
    options.cache = *cache;
  }
  ASSIGN_OR_RETURN(options.prefill, ParsePrefill());
  ASSIGN_OR_RETURN(options.verify, ParseVerify());
  ASSIGN_OR_RETURN(options.swaps, ParseSwaps());
  ASSIGN_OR_RETURN(options.host, ParseHost());
  ASSIGN_OR_RETURN(options.misses, ParseMiss());
  if (FLAGS_landing) options.offered_share = LandingPools::kDefaultShare;
  const std::optional<LandingRule> rule = ParseLandingRule(FLAGS_landing_rule);
  if (!rule.has_value()) {
    return UnknownValue("landing_rule", FLAGS_landing_rule, "adaptive and learned");
  }
  options.landing_rule = *rule;
  return options;
}

FlagGroup ExpertFlagGroup() {
  return {.title = "Experts",
          .flags = {"expert_cache SIZE", "expert_profile FILE"},
          .rare = {"pack DIR", "miss NAME", "expert_source NAME", "mmap_experts",
                   "host_experts SIZE", "pin_budget SIZE", "stage_memory NAME", "prefill NAME",
                   "verify NAME", "lend", "adapt_every", "adapt_swaps", "adapt_decay X",
                   "adapt_bytes SIZE", "landing", "landing_rule NAME", "dump_routing FILE"}};
}

}  // namespace strata
