// Shows what is in a GGUF model.
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gflags/gflags.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/cli/progress.h"
#include "strata/core/cli/tool_main.h"
#include "strata/core/error.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_json.h"
#include "strata/core/gguf/tensor_bytes.h"
#include "strata/core/gguf/tensor_place.h"
#include "strata/core/printable.h"
#include "strata/core/sha256.h"
#include "strata/core/status_macros.h"
#include "strata/tools/gguf_listing.h"
#include "strata/tools/model_screen.h"
#include "strata/tools/model_view.h"
#include "strata/tools/plan_command.h"

DEFINE_bool(json, false,
            "Print one JSON object: every key and tensor, the expert layout, parameter counts.");
DEFINE_bool(tensors, false, "List all tensors.");
DEFINE_bool(metadata, false, "List all metadata keys; long values are cut, with their length.");
DEFINE_bool(sha256, false, "Add the SHA-256 of each tensor's bytes; lists the tensors.");
DEFINE_bool(
    strict, false,
    "A sound file that holds no model that could be run is an error (exit code 2), and so are "
    "keys that are not ASCII.");
DEFINE_bool(plan, false,
            "Instead: where the model's parts would go on a machine with --vram and --ram, and how "
            "fast its memories and its link would allow it to be.");

namespace strata {
namespace {

// Hashes in pieces, which keeps the progress alive.
absl::StatusOr<TensorHashes> HashTensors(const GgufFile& file) {
  int64_t bytes = 0;
  for (const GgufTensor& tensor : file.tensors()) bytes += tensor.bytes;
  Progress progress({.label = "hashing tensors", .total = bytes, .unit = Progress::Unit::kBytes});
  TensorHashes hashes;
  for (const GgufTensor& tensor : file.tensors()) {
    Sha256 hash;
    constexpr size_t kPiece = 8 << 20;
    for (absl::Span<const std::byte> rest = file.Data(tensor); !rest.empty();) {
      const absl::Span<const std::byte> piece = rest.subspan(0, kPiece);
      hash.Update(piece);
      progress.Add(static_cast<int64_t>(piece.size()));
      rest.remove_prefix(piece.size());
    }
    hashes[tensor.name] = hash.HexDigest();
    RETURN_IF_ERROR(file.CheckUnchanged());
  }
  return hashes;
}

Json ReasonJson(const absl::Status& status) {
  return {{"kind", ErrorKind(status)}, {"message", status.message()}};
}

// What --strict refuses.
absl::Status CheckStrictly(const GgufFile& file, const ModelView& view) {
  const std::vector<absl::string_view> keys = file.KeysBeyondAscii();
  if (!keys.empty()) {
    return InputError("bad_key", file.path(),
                      absl::StrCat("key '", Printable(keys.front(), 80), "' is not ASCII"));
  }
  return view.status.ok() ? absl::OkStatus() : WithFile(view.status, file.path());
}

Json InspectionJson(const GgufFile& file, const ModelView& view, const TensorHashes& hashes) {
  GgufJsonOptions options;
  if (!hashes.empty()) {
    options.sha256 = [&](const GgufTensor& tensor) { return hashes.at(tensor.name); };
  }
  Json json = FileJson(file, options);
  json["moe"] = view.layout.has_value() ? MoeJson(*view.layout) : nullptr;
  if (view.parameters.has_value()) {
    json["params"] = {{"total", view.parameters->total},
                      {"active", view.parameters->active},
                      {"nextn", view.parameters->nextn}};
  }
  json["table_bytes"] = BytesOfKind(file, TensorKind::kTable);
  if (!view.status.ok()) json["model_error"] = ReasonJson(view.status);
  json["generate"] = {{"runs", view.runs.ok()},
                      {"why_not", view.runs.ok() ? Json() : ReasonJson(view.runs)},
                      {"remarks", view.remarks}};
  return json;
}

void PrintText(const GgufFile& file, const ModelView& view, const TensorHashes& hashes) {
  std::cout << ModelScreen(file, view);
  if (FLAGS_metadata) std::cout << "\n" << MetadataText(file);
  if (FLAGS_tensors || FLAGS_sha256) std::cout << "\n" << TensorsText(file, hashes);
}

absl::Status Run(const std::vector<std::string>& arguments) {
  if (arguments.size() != 1) return UsageError("name one GGUF file; --help lists the flags");
  if (FLAGS_plan) {
    if (FLAGS_tensors || FLAGS_metadata || FLAGS_sha256) {
      return UsageError("--plan does not go with --tensors, --metadata and --sha256");
    }
    return PrintPlan(arguments[0], FLAGS_json);
  }
  if (const std::string flag = FlagOfPlanGiven(); !flag.empty()) {
    return UsageError("--" + flag + " goes with --plan");
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<GgufFile> file, GgufFile::Open(arguments[0]));
  const ModelView view = ViewModel(*file);
  if (FLAGS_strict) RETURN_IF_ERROR(CheckStrictly(*file, view));
  TensorHashes hashes;
  if (FLAGS_sha256) {
    ASSIGN_OR_RETURN(hashes, HashTensors(*file));
  }
  RETURN_IF_ERROR(file->CheckUnchanged());
  if (FLAGS_json) {
    PrintJson(InspectionJson(*file, view, hashes));
  } else {
    PrintText(*file, view, hashes);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace strata

int main(int argc, char** argv) {
  return strata::ToolMain(
      {.usage =
           "gguf_inspect FILE [flags]\n"
           "       gguf_inspect FILE --plan --vram 12GiB --ram 64GiB [--context N] [--profile "
           "FILE]\n"
           "\n"
           "Shows what a GGUF model is: its size, experts, quantization and tokenizer. Of a\n"
           "split model any shard may be named; a table in a file of its own is named behind the\n"
           "model: MODEL.gguf,TABLE.gguf.",
       .json = &FLAGS_json,
       .groups = {{.title = "What to show",
                   .flags = {"tensors", "metadata", "json", "sha256"},
                   .rare = {"strict"}},
                  {.title = "Planning", .flags = {"plan"}},
                  strata::PlanFlagGroup()}},
      strata::Run, argc, argv);
}
