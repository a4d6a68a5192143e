#include "strata/core/gguf/expert_layout_builder.h"

#include <array>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/core/block_type.h"
#include "strata/core/error.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_tensor.h"
#include "strata/core/gguf/model_config.h"
#include "strata/core/gguf/tensor_place.h"
#include "strata/core/printable.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

// The order of an expert's blob.
constexpr ExpertRole kRolesInOrder[] = {ExpertRole::kGate, ExpertRole::kGateUp, ExpertRole::kUp,
                                        ExpertRole::kDown};

std::string Shown(const GgufTensor& tensor) {
  return absl::StrCat("tensor '", Printable(tensor.name, 80), "' of shape [",
                      absl::StrJoin(tensor.dims(), ", "), "]");
}

ExpertSlice SliceOf(ExpertRole role, const GgufTensor& tensor, int64_t num_experts) {
  return ExpertSlice{.role = role,
                     .type = tensor.type,
                     .shard = tensor.shard,
                     .file_offset = tensor.file_offset,
                     .bytes = tensor.bytes / num_experts,
                     .row_length = tensor.all_dims[0],
                     .num_rows = tensor.all_dims[1]};
}

ExpertForm FormOf(absl::Span<const ExpertMatrix> matrices) {
  for (const ExpertMatrix& matrix : matrices) {
    if (matrix.first.role == ExpertRole::kGateUp) return ExpertForm::kFused;
  }
  return matrices[0].places.empty() ? ExpertForm::kMerged : ExpertForm::kSeparate;
}

}  // namespace

absl::StatusOr<ExpertLayout> ExpertLayoutBuilder::Build() {
  RETURN_IF_ERROR(SortTensors());
  RETURN_IF_ERROR(CheckBlocks());
  const auto first_nextn = blocks_.lower_bound(static_cast<int>(config_.trunk_layers()));
  layout_.num_nextn_blocks_ = static_cast<int>(std::distance(first_nextn, blocks_.end()));
  if (!config_.is_moe()) return std::move(layout_);
  if (config_.experts.count > std::numeric_limits<int>::max()) {
    return Error("moe_counts", absl::StrCat("expert_count is ", config_.experts.count));
  }
  layout_.num_experts_ = static_cast<int>(config_.experts.count);
  layout_.num_used_ = static_cast<int>(config_.experts.used_count);
  for (const auto& [number, block] : blocks_) {
    if (number >= config_.trunk_layers()) break;
    if (!block.experts.empty()) RETURN_IF_ERROR(AddLayer(number, block));
  }
  if (layout_.layers_.empty()) {
    return Error("tensor_missing", absl::StrCat("expert_count is ", config_.experts.count,
                                                ", but no tensor holds experts"));
  }
  layout_.num_trunk_layers_ = layout_.layers_.size();
  // The trunk runs without them: a block whose experts are wrong is as one without.
  const ExpertForm form = layout_.form_;
  for (auto block = first_nextn; block != blocks_.end(); ++block) {
    if (block->second.experts.empty()) continue;
    if (!AddLayer(block->first, block->second).ok()) break;
  }
  layout_.form_ = form;
  return std::move(layout_);
}

absl::Status ExpertLayoutBuilder::Error(absl::string_view kind, absl::string_view message) const {
  return InputError(kind, file_.path(), message);
}

// Fills blocks_, and refuses names whose numbers cannot be.
absl::Status ExpertLayoutBuilder::SortTensors() {
  for (const GgufTensor& tensor : file_.tensors()) {
    const TensorPlace place = ClassifyTensor(tensor.name);
    if (place.kind == TensorKind::kGlobal || place.kind == TensorKind::kTable) continue;
    if (place.kind == TensorKind::kMalformed || place.block >= config_.block_count) {
      return Error("tensor_name", absl::StrCat(Shown(tensor), " is of no block from 0 to ",
                                               config_.block_count - 1, ", or of no expert"));
    }
    Block& block = blocks_[place.block];
    if (place.kind == TensorKind::kDenseFfn) block.has_dense_ffn = true;
    if (place.kind == TensorKind::kRouter) block.router = &tensor;
    if (place.kind != TensorKind::kExpert) continue;
    Found& found = block.experts[place.role];
    if (place.expert < 0) {
      found.merged = &tensor;
    } else {
      found.separate[place.expert] = &tensor;
    }
  }
  return absl::OkStatus();
}

// That every block of the trunk is there, with experts or a dense feed-forward part. Walks the
// blocks that have tensors: block_count may be any number.
absl::Status ExpertLayoutBuilder::CheckBlocks() const {
  int64_t expected = 0;
  for (const auto& [number, block] : blocks_) {
    if (number >= config_.trunk_layers()) break;
    if (number != expected) break;
    ++expected;
    if (!config_.is_moe() && !block.experts.empty()) {
      return Error("moe_counts", absl::StrCat("block ", number,
                                              " has expert tensors, but expert_count is 0 or "
                                              "missing"));
    }
    if (config_.is_moe() && block.experts.empty() && !block.has_dense_ffn &&
        !config_.architecture->blocks_may_lack_ffn) {
      return Error("tensor_missing", absl::StrCat("block ", number,
                                                  " has neither experts nor a dense feed-forward "
                                                  "part"));
    }
  }
  if (expected < config_.trunk_layers()) {
    return Error("tensor_missing", absl::StrCat("block ", expected, " of ", config_.trunk_layers(),
                                                " has no tensors"));
  }
  return absl::OkStatus();
}

absl::Status ExpertLayoutBuilder::AddLayer(int number, const Block& block) {
  RETURN_IF_ERROR(CheckRoles(number, block));
  std::vector<ExpertMatrix> matrices;
  for (const ExpertRole role : kRolesInOrder) {
    const auto found = block.experts.find(role);
    if (found == block.experts.end()) continue;
    ASSIGN_OR_RETURN(ExpertMatrix matrix, ReadMatrix(role, found->second));
    matrices.push_back(std::move(matrix));
  }
  RETURN_IF_ERROR(CheckShapes(number, matrices));
  RETURN_IF_ERROR(CheckRouter(number, block));
  const ExpertForm form = FormOf(matrices);
  layout_.form_ = layout_.layers_.empty() || layout_.form_ == form ? form : ExpertForm::kMixed;
  layout_.layers_.push_back(number);
  layout_.matrices_.push_back(std::move(matrices));
  return absl::OkStatus();
}

// That each role is there once, in one form.
absl::Status ExpertLayoutBuilder::CheckRoles(int number, const Block& block) const {
  const auto has = [&](ExpertRole role) { return block.experts.count(role) != 0; };
  const bool fused = has(ExpertRole::kGateUp);
  if (fused && (has(ExpertRole::kGate) || has(ExpertRole::kUp))) {
    return Error("tensor_ambiguous", absl::StrCat("block ", number,
                                                  " has its experts' gate and up both fused and "
                                                  "single"));
  }
  for (const auto& [role, found] : block.experts) {
    if (found.merged != nullptr && !found.separate.empty()) {
      return Error("tensor_ambiguous",
                   absl::StrCat("block ", number, " has its experts' ", NameOf(role),
                                " both in one tensor and in one for each"));
    }
  }
  std::vector<ExpertRole> needed = {ExpertRole::kDown};
  if (!fused) needed.push_back(ExpertRole::kUp);
  if (!fused && !config_.architecture->experts_lack_gate) needed.push_back(ExpertRole::kGate);
  for (const ExpertRole role : needed) {
    if (has(role)) continue;
    return Error("tensor_missing",
                 absl::StrCat("block ", number, " has experts without ", NameOf(role)));
  }
  return absl::OkStatus();
}

absl::StatusOr<ExpertMatrix> ExpertLayoutBuilder::ReadMatrix(ExpertRole role,
                                                             const Found& found) const {
  ExpertMatrix matrix;
  if (found.merged != nullptr) {
    RETURN_IF_ERROR(CheckMerged(*found.merged));
    matrix.first = SliceOf(role, *found.merged, layout_.num_experts_);
    return matrix;
  }
  RETURN_IF_ERROR(CheckSeparate(found.separate, role));
  matrix.first = SliceOf(role, *found.separate.begin()->second, 1);
  for (const auto& [expert, tensor] : found.separate) {
    matrix.places.push_back({tensor->shard, tensor->file_offset});
  }
  return matrix;
}

absl::Status ExpertLayoutBuilder::CheckMerged(const GgufTensor& tensor) const {
  const int64_t count = config_.experts.count;
  if ((tensor.num_dims < 3 && count != 1) || tensor.all_dims[3] != 1) {
    return Error("tensor_shape",
                 absl::StrCat(Shown(tensor), " does not have the experts in its third dimension"));
  }
  if (tensor.all_dims[2] == count) return absl::OkStatus();
  return Error("moe_counts", absl::StrCat(Shown(tensor), " holds ", tensor.all_dims[2],
                                          " experts, expert_count is ", count));
}

absl::Status ExpertLayoutBuilder::CheckSeparate(const std::map<int, const GgufTensor*>& experts,
                                                ExpertRole role) const {
  const GgufTensor& first = *experts.begin()->second;
  int expected = 0;
  for (const auto& [expert, tensor] : experts) {
    if (expert != expected) break;
    ++expected;
    if (tensor->type != first.type) {
      return Error("moe_types", absl::StrCat(Shown(*tensor), " is ", InfoOf(tensor->type).name,
                                             ", ", Shown(first), " is ", InfoOf(first.type).name));
    }
    if (tensor->num_dims > 2 || tensor->all_dims != first.all_dims) {
      return Error("tensor_shape",
                   absl::StrCat(Shown(*tensor), " is not shaped as ", Shown(first)));
    }
  }
  if (experts.rbegin()->first >= config_.experts.count) {
    return Error("moe_counts", absl::StrCat(Shown(*experts.rbegin()->second),
                                            " is one of more experts than expert_count, ",
                                            config_.experts.count));
  }
  if (expected == config_.experts.count) return absl::OkStatus();
  return Error("tensor_missing", absl::StrCat("expert ", expected, " of ", config_.experts.count,
                                              " has no ", NameOf(role), " beside ", Shown(first)));
}

// gate and up {D, F}, gate_up {D, 2F}, down {F, D}: F the same for all and as the config says, if
// it does.
absl::Status ExpertLayoutBuilder::CheckShapes(int number,
                                              absl::Span<const ExpertMatrix> matrices) const {
  const ExpertConfig& experts = config_.experts;
  const int64_t length =
      experts.latent_length > 0 ? experts.latent_length : config_.embedding_length;
  const int64_t width = matrices.back().first.row_length;
  if (width <= 0 || (experts.feed_forward_length > 0 && width != experts.feed_forward_length)) {
    return Error("tensor_shape", absl::StrCat("block ", number, ": experts are ", width,
                                              " wide, expert_feed_forward_length is ",
                                              experts.feed_forward_length));
  }
  for (const ExpertMatrix& matrix : matrices) {
    const ExpertSlice& slice = matrix.first;
    const bool is_down = slice.role == ExpertRole::kDown;
    const int64_t row_length = is_down ? width : length;
    const int64_t num_rows = is_down                             ? length
                             : slice.role == ExpertRole::kGateUp ? 2 * width
                                                                 : width;
    if (slice.row_length == row_length && slice.num_rows == num_rows) continue;
    return Error("tensor_shape",
                 absl::StrCat("block ", number, ": an expert's ", NameOf(slice.role), " is [",
                              slice.row_length, ", ", slice.num_rows, "], wanted is [", row_length,
                              ", ", num_rows, "]"));
  }
  return absl::OkStatus();
}

// A router with other rows than experts could choose one that is not there.
absl::Status ExpertLayoutBuilder::CheckRouter(int number, const Block& block) const {
  if (block.router == nullptr) {
    // The first blocks of some models choose by the token alone.
    if (number < config_.experts.hash_layer_count) return absl::OkStatus();
    return Error("tensor_missing", absl::StrCat("block ", number, " has experts and no router"));
  }
  const std::array<int64_t, 4> wanted = {config_.embedding_length, config_.experts.count, 1, 1};
  if (block.router->all_dims == wanted) return absl::OkStatus();
  return Error("tensor_shape", absl::StrCat(Shown(*block.router), ", wanted is [", wanted[0], ", ",
                                            wanted[1], "]"));
}

}  // namespace strata
