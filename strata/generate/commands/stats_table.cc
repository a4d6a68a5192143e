#include "strata/generate/commands/stats_table.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "strata/core/cli/byte_size.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/cli/text_table.h"

namespace strata {
namespace {

std::string Count(const Json& number) { return absl::StrCat(number.get<int64_t>()); }

std::string Bytes(const Json& bytes) { return FormatByteSize(bytes.get<int64_t>()); }

std::string Milliseconds(const Json& ms) { return absl::StrFormat("%g ms", ms.get<double>()); }

std::string Rate(const Json& rate) { return absl::StrFormat("%.1f tokens/s", rate.get<double>()); }

std::string Percent(const Json& percent) { return absl::StrFormat("%g %%", percent.get<double>()); }

// A title, and lines below it.
class Group {
 public:
  explicit Group(absl::string_view title) : title_(title) {}

  void Line(absl::string_view label, std::string text) {
    lines_.emplace_back(label, std::move(text));
  }
  // Where there is something to say.
  void CountLine(absl::string_view label, const Json& number) {
    if (number.get<int64_t>() > 0) Line(label, Count(number));
  }
  void BytesLine(absl::string_view label, const Json& bytes) {
    if (bytes.get<int64_t>() > 0) Line(label, Bytes(bytes));
  }

  std::string ToString() const {
    if (lines_.empty()) return "";
    constexpr int kLabelColumns = 22;
    TextTable table("ll");
    for (const auto& [label, text] : lines_) {
      table.AddRow({absl::StrFormat("%-*s", kLabelColumns, label), text});
    }
    return absl::StrCat(title_, "\n", table.ToString(/*indent=*/2));
  }

 private:
  const std::string title_;
  std::vector<std::pair<std::string, std::string>> lines_;
};

std::string PromptText(const Json& stats) {
  Group group("prompt");
  group.Line("tokens", Count(stats["prompt_tokens"]));
  group.CountLine("of them known before", stats["prompt_tokens_reused"]);
  group.Line("read at", Rate(stats["prompt_tps"]));
  group.Line("first token after", Milliseconds(stats["ttft_ms"]));
  return group.ToString();
}

std::string AnswerText(const Json& stats) {
  Group group("answer");
  group.Line("tokens", Count(stats["new_tokens"]));
  group.Line("written at", Rate(stats["decode_tps"]));
  group.CountLine("rows of the table", stats["table_rows"]);
  if (stats.contains("seed")) group.Line("drawn with seed", stats["seed"].dump());
  return group.ToString();
}

std::string ExpertsText(const Json& stats) {
  const int64_t routed = stats["routed"];
  if (routed == 0) return "";
  Group group("experts");
  const double hits = 100.0 * stats["hits"].get<double>() / static_cast<double>(routed);
  group.Line("uses", Count(stats["routed"]));
  group.Line("in slots", absl::StrFormat("%d (%.1f %%)", stats["hits"].get<int64_t>(), hits));
  group.CountLine("read by the GPU", stats["misses"]["read"]);
  group.CountLine("read by the CPU", stats["misses"]["cpu"]);
  group.CountLine("through stages", stats["misses"]["stage"]);
  group.BytesLine("bytes from slots", stats["bytes"]["slot"]);
  group.BytesLine("pinned in the file", stats["bytes"]["registered"]);
  group.BytesLine("from the arena", stats["bytes"]["arena"]);
  group.BytesLine("from stages", stats["bytes"]["stage"]);
  group.BytesLine("from the mapping", stats["bytes"]["file"]);
  return group.ToString();
}

void AddAdaptation(const Json& stats, Group& group) {
  const Json& adapt = stats["adapt"];
  if (adapt["rounds"].get<int64_t>() == 0) return;
  group.Line("rounds of swaps", absl::StrCat(Count(adapt["rounds"]), ", ",
                                             Count(adapt["rounds_skipped"]), " skipped"));
  group.Line("swaps", absl::StrCat(Count(stats["swaps"]), " of ", Count(adapt["decided"]),
                                   " decided, ", Count(adapt["failed"]), " failed, ",
                                   Count(adapt["dropped"]), " dropped"));
  group.BytesLine("bytes swapped", adapt["bytes"]);
  group.Line("time of rounds", Milliseconds(stats["swap_round_ms"]));
  group.Line("saving", absl::StrCat(Milliseconds(adapt["realized_saving_ms"]), " of ",
                                    Milliseconds(adapt["settled_predicted_ms"]), " foretold"));
}

void AddGauge(const Json& stats, Group& group) {
  if (!stats.contains("gauge")) return;
  const Json& gauge = stats["gauge"];
  group.Line("hit rate", absl::StrCat(Percent(gauge["hit_percent"]), " of the last ",
                                      Count(gauge["steps"]), " steps"));
  group.Line("  best fixed slots", Percent(gauge["best_static_percent"]));
  group.Line("  optimum", Percent(gauge["optimum_percent"]));
  group.Line("  LRU", Percent(gauge["lru_percent"]));
  group.Line("  LRU, 1 GiB more",
             absl::StrCat(Percent(gauge["lru_with_1gib_more_percent"]), ", saving ",
                          Bytes(gauge["bytes_saved_a_step_by_1gib_more"]), " a step"));
}

std::string SlotsText(const Json& stats) {
  if (!stats.contains("slots") || stats["slots"].get<int64_t>() == 0) return "";
  Group group("slots");
  group.Line("slots", absl::StrCat(Count(stats["slots"]), ", ", Bytes(stats["slot_bytes"])));
  group.Line("filled", absl::StrCat(Count(stats["filled"]), ", ", Count(stats["verified"]),
                                    " compared with the file"));
  if (stats["fill_gbps"].get<double>() > 0) {
    group.Line("filled at", absl::StrFormat("%g GB/s", stats["fill_gbps"].get<double>()));
  }
  group.CountLine("lent to prompts", stats["lent"]);
  if (stats["refilled"].get<int64_t>() > 0) {
    group.Line("refilled",
               absl::StrCat(Count(stats["refilled"]), " in ", Milliseconds(stats["refill_ms"])));
  }
  AddAdaptation(stats, group);
  AddGauge(stats, group);
  return group.ToString();
}

std::string MemoryText(const Json& stats) {
  Group group("memory");
  group.BytesLine("keys and values", stats["kv_bytes"]);
  group.BytesLine("recurrent state", stats["recurrent_bytes"]);
  group.BytesLine("snapshots", stats["snapshot_bytes"]);
  group.BytesLine("workspace", stats["workspace_bytes"]);
  if (stats.contains("pinned_bytes") && stats["pinned_bytes"].get<int64_t>() > 0) {
    group.Line("pinned",
               absl::StrCat(Bytes(stats["pinned_bytes"]), " in ", Milliseconds(stats["pin_ms"])));
  }
  return group.ToString();
}

// What each part of the start took.
std::string StartText(const Json& stats) {
  if (!stats.contains("start")) return "";
  Group group("start");
  for (const auto& [name, ms] : stats["start"].items()) {
    group.Line(absl::StrReplaceAll(absl::StripSuffix(name, "_ms"), {{"_", " "}}), Milliseconds(ms));
  }
  return group.ToString();
}

std::string MachineText(const Json& stats) {
  Group group("machine");
  group.Line("device", absl::StrCat(stats["device"].get<std::string>(), ", ",
                                    stats["isa"].get<std::string>()));
  group.Line("threads", Count(stats["threads"]));
  return group.ToString();
}

}  // namespace

std::string StatsTable(const Json& stats) {
  return absl::StrCat(PromptText(stats), AnswerText(stats), ExpertsText(stats), SlotsText(stats),
                      MemoryText(stats), StartText(stats), MachineText(stats));
}

}  // namespace strata
