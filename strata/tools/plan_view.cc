#include "strata/tools/plan_view.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "strata/core/cli/byte_size.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/cli/text_table.h"
#include "strata/tools/machine_plan.h"

namespace strata {
namespace {

double Share(double part, double whole) { return whole > 0 ? part / whole : 0; }

std::string Percent(double share) { return absl::StrFormat("%.1f %%", 100 * share); }

std::string Bytes(double bytes) { return FormatByteSize(static_cast<int64_t>(bytes)); }

std::string DeviceText(const PlanRequest& request) {
  if (request.device == "cuda") return "for kernels of a GPU (--device cuda)\n";
  return absl::StrCat("for kernels of the CPU (--device cpu)",
                      request.why_not_cuda.empty() ? "" : absl::StrCat(": ", request.why_not_cuda),
                      "\n");
}

std::string MemoryText(const PlanRequest& request, const MachinePlan& plan) {
  const Machine& machine = request.machine;
  TextTable table("lrl");
  const auto add = [&](const std::string& what, int64_t bytes, const std::string& note) {
    table.AddRow({what, FormatByteSize(bytes), note});
  };
  add("GPU memory", machine.vram_bytes, "");
  add("  dense weights", plan.footprint.dense_bytes, "");
  add("  KV cache", plan.footprint.kv_bytes,
      absl::StrCat(request.footprint.context, " tokens, ", request.kv));
  if (plan.footprint.recurrent_bytes > 0) {
    add("  recurrent state", plan.footprint.recurrent_bytes,
        "of one text, before and after a step");
  }
  add("  workspace", plan.footprint.workspace_bytes,
      absl::StrCat("prompts in batches of ", request.footprint.prompt_batch));
  add("  reserve", machine.vram_reserve_bytes, "");
  add("  expert slots", plan.slot_bytes,
      absl::StrFormat("%d of %d experts (%s)", plan.num_slots, plan.num_experts,
                      Percent(Share(plan.num_slots, static_cast<double>(plan.num_experts)))));
  add("host memory", machine.ram_bytes, "");
  if (plan.footprint.snapshot_bytes > 0) {
    add("  snapshots", plan.footprint.snapshot_bytes, "of the recurrent state, at most");
  }
  add("  pinned experts", plan.pinned_expert_bytes, absl::StrCat(plan.num_pinned, " experts"));
  add("  pinned stages", plan.stage_bytes, "");
  add("left in the file", plan.file_bytes,
      absl::StrCat(plan.num_in_file, " experts, read when they are used"));
  if (plan.footprint.table_bytes > 0) {
    add("  table of rows", plan.footprint.table_bytes,
        absl::StrCat("never held; a token touches ",
                     FormatByteSize(plan.footprint.table_read_bytes), " of pages"));
  }
  return table.ToString();
}

std::string SpeedText(const PlanRequest& request, const MachinePlan& plan) {
  const Machine& machine = request.machine;
  TextTable table("lrrr");
  table.AddRow({"", "GB/s", "a token", "tokens/s at most"});
  const auto add = [&](const char* name, double gb_per_s, const MachinePlan::Bound& bound) {
    table.AddRow({name, absl::StrFormat("%g", gb_per_s), Bytes(bound.bytes),
                  bound.tokens_per_s > 0 ? absl::StrFormat("%.1f", bound.tokens_per_s) : "-"});
  };
  add("link", machine.link_gb_per_s, plan.link);
  add("host memory", machine.dram_gb_per_s, plan.dram);
  add("GPU memory", machine.gpu_gb_per_s, plan.gpu);
  add("file", machine.disk_gb_per_s, plan.disk);
  return table.ToString();
}

Json BoundJson(double gb_per_s, const MachinePlan::Bound& bound) {
  return {{"gb_per_s", gb_per_s},
          {"bytes_per_token", bound.bytes},
          {"tokens_per_s", bound.tokens_per_s}};
}

}  // namespace

std::string PlanText(const PlanRequest& request, const MachinePlan& plan) {
  std::string text = absl::StrCat(DeviceText(request), "\n", MemoryText(request, plan));
  if (!plan.fits()) return text;
  absl::StrAppend(
      &text, "\nexpected hit rate  ", Percent(plan.forecast.hit_rate),
      plan.has_profile ? "  (over the texts of the profile)" : "  (no profile: experts used alike)",
      "\n\n", SpeedText(request, plan), "\nthe tightest is the ",
      plan.tightest == "gpu"    ? "GPU memory"
      : plan.tightest == "dram" ? "host memory"
      : plan.tightest == "disk" ? "file"
                                : "link",
      ": the real speed is below its figure, since kernels and waits add time\n");
  if (plan.num_in_file > 0) {
    absl::StrAppend(
        &text, plan.num_in_file,
        " experts are beyond what may be pinned (three quarters of --ram): as if each use "
        "read the file\n");
  }
  return text;
}

Json PlanJson(const PlanRequest& request, const MachinePlan& plan) {
  const Machine& machine = request.machine;
  return {{"fits", plan.fits()},
          {"shortage", plan.fits() ? Json() : Json(plan.shortage)},
          {"device", request.device},
          {"context", request.footprint.context},
          {"kv", request.kv},
          {"prompt_batch", request.footprint.prompt_batch},
          {"vram",
           {{"bytes", machine.vram_bytes},
            {"dense_bytes", plan.footprint.dense_bytes},
            {"kv_bytes", plan.footprint.kv_bytes},
            {"recurrent_bytes", plan.footprint.recurrent_bytes},
            {"workspace_bytes", plan.footprint.workspace_bytes},
            {"reserve_bytes", machine.vram_reserve_bytes},
            {"slots", plan.num_slots},
            {"slot_bytes", plan.slot_bytes},
            {"slot_share", Share(plan.num_slots, static_cast<double>(plan.num_experts))}}},
          {"ram",
           {{"bytes", machine.ram_bytes},
            {"snapshot_bytes", plan.footprint.snapshot_bytes},
            {"pinned_experts", plan.num_pinned},
            {"pinned_expert_bytes", plan.pinned_expert_bytes},
            {"stage_bytes", plan.stage_bytes},
            {"pinned_bytes", plan.pinned_bytes()}}},
          {"file",
           {{"experts", plan.num_in_file},
            {"bytes", plan.file_bytes},
            {"table_bytes", plan.footprint.table_bytes},
            {"table_bytes_per_token", plan.footprint.table_read_bytes}}},
          {"profile", plan.has_profile},
          {"hit_rate", plan.forecast.hit_rate},
          {"bounds",
           {{"link", BoundJson(machine.link_gb_per_s, plan.link)},
            {"dram", BoundJson(machine.dram_gb_per_s, plan.dram)},
            {"gpu", BoundJson(machine.gpu_gb_per_s, plan.gpu)},
            {"disk", BoundJson(machine.disk_gb_per_s, plan.disk)}}},
          {"tightest", plan.tightest.empty() ? Json() : Json(plan.tightest)}};
}

}  // namespace strata
