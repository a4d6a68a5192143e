#include "strata/generate/cpu/experts_block.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/core/status_macros.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/blocks/activation_form.h"
#include "strata/generate/cpu/activation_batch.h"
#include "strata/generate/cpu/expert_weights.h"
#include "strata/generate/cpu/feed_forward_block.h"
#include "strata/generate/cpu/gated_products.h"
#include "strata/generate/cpu/product_job.h"
#include "strata/generate/cpu/rows.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/rms_norm.h"
#include "strata/generate/kernels/router.h"
#include "strata/generate/kernels/vector_math.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/numerics/numerics.h"

namespace strata {
namespace {

ProductJob::Matrix MatrixOf(const ExpertLinears& linears, const ExpertWeights::Location& at) {
  return {.name = linears.name,
          .weights = linears.Weights(at.parts),
          .scale = linears.scale(at.expert),
          .bias = linears.bias(at.expert)};
}

// What the parts see of so many tokens, where each has a norm of its own.
int64_t NormedBytes(const MixtureOfExperts& experts, int64_t num_tokens) {
  const int64_t width = experts.gate.columns;
  const auto batch_bytes = [&](std::set<ActivationForm> forms) {
    int64_t bytes = Rows::BytesFor(num_tokens, width);
    for (const ActivationForm form : forms) {
      bytes += num_tokens * ActivationBuffer::BytesFor(form, width);
    }
    return bytes;
  };
  int64_t bytes =
      batch_bytes({*ActivationFormOf(experts.router.weights.type)}) +
      batch_bytes({*ActivationFormOf(experts.gate.type), *ActivationFormOf(experts.up.type)});
  if (experts.shared.has_value()) {
    bytes += batch_bytes({*ActivationFormOf(experts.shared->gate.weights.type),
                          *ActivationFormOf(experts.shared->up.weights.type)});
  }
  return bytes;
}

}  // namespace

ExpertsBlock::ExpertsBlock(float norm_epsilon, ThreadPool& pool)
    : norm_epsilon_(norm_epsilon),
      pool_(pool),
      router_input_(pool),
      routed_input_(pool),
      shared_input_(pool),
      job_(pool),
      gated_(pool),
      scratch_of_worker_(pool.num_threads()) {}

absl::Status ExpertsBlock::Run(int layer, const MixtureOfExperts& experts, ExpertWeights& weights,
                               ActivationBatch& x, Rows& out) {
  const Inputs inputs = InputsOf(experts, x);
  RETURN_IF_ERROR(Route(experts, inputs.router));
  GroupByExpert(experts);
  down_.Resize(num_entries(), experts.down.rows);
  bool is_first_part = true;
  RETURN_IF_ERROR(weights.ForEachPart(layer, used_, [&](Locations locations) -> absl::Status {
    const bool with_shared = experts.shared.has_value() && std::exchange(is_first_part, false);
    RETURN_IF_ERROR(RunGated(experts, locations, with_shared, inputs));
    return RunDown(experts, locations, with_shared, inputs.shared);
  }));
  AddUp(experts, out);
  return absl::OkStatus();
}

int64_t ExpertsBlock::WorkspaceBytes(const MixtureOfExperts& experts, int64_t num_tokens) {
  const int64_t entries = num_tokens * experts.routing.num_chosen;
  int64_t results = entries, width = experts.gate.rows;
  int64_t bytes = Rows::BytesFor(num_tokens, experts.routing.num_experts) +
                  Rows::BytesFor(entries, experts.down.rows) +
                  GatedProducts::ResultBytes(experts.down.type, entries, experts.gate.rows);
  if (experts.shared.has_value()) {
    results += num_tokens;
    width = std::max(width, experts.shared->gate.weights.rows);
    bytes += Rows::BytesFor(num_tokens, experts.shared->down.weights.rows) +
             GatedProducts::ResultBytes(experts.shared->down.weights.type, num_tokens,
                                        experts.shared->gate.weights.rows);
  }
  if (experts.shared_gate.has_value()) bytes += Rows::BytesFor(num_tokens, 1);
  if (experts.norms.has_value()) bytes += NormedBytes(experts, num_tokens);
  return bytes + GatedProducts::ProductBytes(results, width);
}

ExpertsBlock::Inputs ExpertsBlock::InputsOf(const MixtureOfExperts& experts, ActivationBatch& x) {
  if (!experts.norms.has_value()) return {.router = x, .routed = x, .shared = x};
  const ExpertNorms& norms = *experts.norms;
  return {.router = Norm(norms.router, x.rows(), router_input_),
          .routed = Norm(norms.routed_before, x.rows(), routed_input_),
          .shared = Norm(norms.shared_before, x.rows(), shared_input_)};
}

ActivationBatch& ExpertsBlock::Norm(const std::vector<float>& weight, const Rows& x,
                                    NormedInput& normed) {
  normed.rows.Resize(x.count(), x.width());
  pool_.ParallelFor(x.count(), /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    for (int64_t i = piece.begin; i < piece.end; ++i) {
      RmsNorm(x.row(i), weight, norm_epsilon_, normed.rows.row(i));
    }
  });
  normed.batch.Assign(normed.rows);
  return normed.batch;
}

absl::Status ExpertsBlock::Route(const MixtureOfExperts& experts, ActivationBatch& x) {
  job_.Clear();
  RETURN_IF_ERROR(job_.AddLinear(experts.router, x, router_logits_));
  RETURN_IF_ERROR(job_.Run());
  num_chosen_ = experts.routing.num_chosen;
  chosen_.resize(x.count() * num_chosen_);
  const Router router(experts.routing);
  pool_.ParallelFor(x.count(), /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    for (int64_t i = piece.begin; i < piece.end; ++i) {
      router.Choose(router_logits_.row(i), scratch_of_worker_[piece.worker],
                    absl::MakeSpan(chosen_).subspan(i * num_chosen_, num_chosen_));
    }
  });
  return absl::OkStatus();
}

void ExpertsBlock::GroupByExpert(const MixtureOfExperts& experts) {
  group_ends_.assign(experts.routing.num_experts, 0);
  for (const ExpertChoice& choice : chosen_) ++group_ends_[choice.expert];
  used_.clear();
  int64_t begin = 0;
  for (int expert = 0; expert < experts.routing.num_experts; ++expert) {
    const int64_t count = std::exchange(group_ends_[expert], begin);  // Grows as entries come.
    if (count > 0) used_.push_back(expert);
    begin += count;
  }
  entries_.resize(chosen_.size());
  for (int64_t entry = 0; entry < num_entries(); ++entry) {
    entries_[group_ends_[chosen_[entry].expert]++] = entry;
  }
  bytes_read_ = static_cast<int64_t>(used_.size()) * experts.expert_bytes();
}

absl::Span<const int64_t> ExpertsBlock::EntriesOf(int expert) const {
  const int64_t begin = expert == 0 ? 0 : group_ends_[expert - 1];
  return absl::MakeConstSpan(entries_).subspan(begin, group_ends_[expert] - begin);
}

absl::Status ExpertsBlock::RunGated(const MixtureOfExperts& experts, Locations locations,
                                    bool with_shared, const Inputs& inputs) {
  gated_.Start(num_entries() + (with_shared ? inputs.shared.count() : 0),
               std::max(experts.gate.rows, with_shared ? experts.shared->gate.weights.rows : 0));
  ASSIGN_OR_RETURN(const auto gate_xs,
                   inputs.routed.ViewsFor(experts.gate.type, experts.gate.name));
  ASSIGN_OR_RETURN(const auto up_xs, inputs.routed.ViewsFor(experts.up.type, experts.up.name));
  for (const ExpertWeights::Location& location : locations) {
    gated_.AddPart({.activation = experts.activation,
                    .gate = MatrixOf(experts.gate, location),
                    .up = MatrixOf(experts.up, location),
                    .down_type = experts.down.type,
                    .down_name = experts.down.name});
    for (const int64_t entry : EntriesOf(location.expert)) {
      const int64_t token = entry / num_chosen_;
      gated_.AddResult(entry, gate_xs[token], up_xs[token]);
    }
  }
  if (with_shared) {
    RETURN_IF_ERROR(AddToGated(*experts.shared, inputs.shared, num_entries(), gated_));
  }
  return gated_.Run();
}

absl::Status ExpertsBlock::RunDown(const MixtureOfExperts& experts, Locations locations,
                                   bool with_shared, ActivationBatch& shared_x) {
  job_.Clear();
  for (const ExpertWeights::Location& location : locations) {
    job_.AddMatrix(MatrixOf(experts.down, location));
    for (const int64_t entry : EntriesOf(location.expert)) {
      job_.AddVector(gated_.result(entry), down_.row(entry));
    }
  }
  if (with_shared) {
    AddDown(*experts.shared, gated_, num_entries(), shared_x.count(), job_, shared_);
    if (experts.shared_gate.has_value()) {
      RETURN_IF_ERROR(job_.AddLinear(*experts.shared_gate, shared_x, shared_gate_));
    }
  }
  return job_.Run();
}

void ExpertsBlock::AddUp(const MixtureOfExperts& experts, Rows& out) {
  const int64_t num_tokens = num_entries() / num_chosen_;
  out.Resize(num_tokens, experts.down.rows);
  pool_.ParallelFor(num_tokens, /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    for (int64_t i = piece.begin; i < piece.end; ++i) {
      const absl::Span<float> sum = out.row(i);
      std::fill(sum.begin(), sum.end(), 0.0f);
      for (int64_t entry = i * num_chosen_; entry < (i + 1) * num_chosen_; ++entry) {
        AddWeighted(chosen_[entry].weight, down_.row(entry), sum);
      }
      if (experts.norms.has_value()) {
        RmsNorm(sum, experts.norms->routed_after, norm_epsilon_, sum);
      }
      if (!experts.shared.has_value()) continue;
      const absl::Span<float> shared = shared_.row(i);
      if (experts.norms.has_value()) {
        RmsNorm(shared, experts.norms->shared_after, norm_epsilon_, shared);
      }
      const float share =
          experts.shared_gate.has_value() ? f32::Sigmoid(shared_gate_.row(i)[0]) : 1.0f;
      AddWeighted(share, shared, sum);
    }
  });
}

}  // namespace strata
