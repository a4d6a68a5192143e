#include "strata/tools/proof_view.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/pack/fill_proof.h"
#include "strata/cache/pack/item_checker.h"
#include "strata/cache/pack/pack_items.h"
#include "strata/cache/pack/pack_manifest.h"
#include "strata/cache/pack/pack_verifier.h"
#include "strata/core/cli/byte_size.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/tensor_place.h"
#include "strata/core/printable.h"

namespace strata {
namespace {

constexpr size_t kMaxPathBytes = 4096;

std::string FindingText(const PackManifest& manifest, const PackFinding& finding) {
  return absl::StrCat(
      "differs: ", Printable(Describe(manifest, finding.item), kMaxPathBytes), " (",
      Printable(finding.file, kMaxPathBytes), "), byte ", finding.offset,
      finding.bytes > 1 ? absl::StrCat(" or one of the ", finding.bytes - 1, " after it") : "",
      ": ", WithoutControls(finding.problem), "\n");
}

Json FindingJson(const PackManifest& manifest, const PackFinding& finding) {
  const PackItem& item = finding.item;
  Json json = {{"what", NameOf(item.kind)}, {"description", Describe(manifest, item)},
               {"shard", nullptr},          {"file", finding.file},
               {"offset", finding.offset},  {"bytes", finding.bytes},
               {"problem", finding.problem}};
  if (item.run.shard != PackItem::kExpertsFile) json["shard"] = item.run.shard;
  switch (item.kind) {
    case PackItem::Kind::kTensor:
      json["tensor"] = manifest.tensors[item.tensor].name;
      break;
    case PackItem::Kind::kSlice:
    case PackItem::Kind::kBlobPart:
    case PackItem::Kind::kPadding:
      json["layer"] = manifest.layers[item.layer].block;
      json["expert"] = item.expert;
      json["role"] = NameOf(manifest.layers[item.layer].parts[item.part].role);
      break;
    case PackItem::Kind::kRest:
    case PackItem::Kind::kHeader:
      break;
  }
  return json;
}

const ExpertSlice& SliceOf(const ExpertFiles& model, const FillProof::Fault& fault) {
  return model.Slices(fault.expert)[fault.part];
}

double GbPerS(const FillProof::Verified& verified) {
  if (verified.seconds <= 0) return 0;
  return static_cast<double>(verified.bytes) / 1e9 / verified.seconds;
}

}  // namespace

std::string ReportText(const PackManifest& manifest, const PackReport& report) {
  std::string text;
  for (const std::string& problem : report.file_problems) {
    absl::StrAppend(&text, "differs: ", WithoutControls(problem), "\n");
  }
  for (const PackFinding& finding : report.findings) {
    absl::StrAppend(&text, FindingText(manifest, finding));
  }
  absl::StrAppend(&text, "checked: ", report.num_checked, " of ", report.num_items, " items, ",
                  FormatByteSize(report.bytes_checked), " of ", FormatByteSize(report.num_bytes),
                  "\n");
  if (report.num_checked < report.num_items) {
    absl::StrAppend(&text, "not checked: ", report.num_items - report.num_checked, " items, ",
                    FormatByteSize(report.num_bytes - report.bytes_checked), "\n");
  }
  return text;
}

Json ReportJson(const PackManifest& manifest, const PackReport& report) {
  Json findings = Json::array();
  for (const PackFinding& finding : report.findings) {
    findings.push_back(FindingJson(manifest, finding));
  }
  return {{"checked", {{"items", report.num_checked}, {"bytes", report.bytes_checked}}},
          {"not_checked",
           {{"items", report.num_items - report.num_checked},
            {"bytes", report.num_bytes - report.bytes_checked}}},
          {"file_problems", report.file_problems},
          {"findings", std::move(findings)}};
}

std::string PassText(const ExpertFiles& model, const ProofPass& pass) {
  std::string text;
  for (const FillProof::Fault& fault : pass.verified.faults) {
    const ExpertSlice& slice = SliceOf(model, fault);
    absl::StrAppend(&text, "differs: slot ", fault.slot, ", ",
                    Printable(model.Describe(fault.expert, slice), kMaxPathBytes));
    if (fault.difference.offset.has_value()) {
      absl::StrAppend(&text, ", byte ", slice.file_offset + *fault.difference.offset);
    }
    absl::StrAppend(&text, ": ", fault.difference.problem, "\n");
  }
  absl::StrAppendFormat(&text, "%s: %d slots read back, %s in %.3f s (%.1f GB/s), %d mismatches\n",
                        pass.name, pass.verified.num_slots, FormatByteSize(pass.verified.bytes),
                        pass.verified.seconds, GbPerS(pass.verified), pass.verified.faults.size());
  return text;
}

Json PassJson(const ExpertFiles& model, const ProofPass& pass) {
  Json mismatches = Json::array();
  for (const FillProof::Fault& fault : pass.verified.faults) {
    const ExpertSlice& slice = SliceOf(model, fault);
    Json mismatch = {{"slot", fault.slot},
                     {"layer", fault.expert.layer},
                     {"expert", fault.expert.index},
                     {"role", NameOf(slice.role)},
                     {"shard", slice.shard},
                     {"offset", nullptr},
                     {"problem", fault.difference.problem}};
    if (fault.difference.offset.has_value()) {
      mismatch["offset"] = slice.file_offset + *fault.difference.offset;
    }
    mismatches.push_back(std::move(mismatch));
  }
  return {{"name", pass.name},
          {"slots", pass.verified.num_slots},
          {"bytes", pass.verified.bytes},
          {"seconds", pass.verified.seconds},
          {"gb_per_s", GbPerS(pass.verified)},
          {"mismatches", std::move(mismatches)}};
}

}  // namespace strata
