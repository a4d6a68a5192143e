#include "strata/generate/engine/experts_block.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "strata/core/status_macros.h"
#include "strata/core/thread_pool.h"
#include "strata/generate/engine/activation_batch.h"
#include "strata/generate/engine/linear_product.h"
#include "strata/generate/engine/rows.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/gated_activation.h"
#include "strata/generate/kernels/not_finite.h"
#include "strata/generate/kernels/numerics.h"
#include "strata/generate/kernels/router.h"
#include "strata/generate/kernels/vector_math.h"
#include "strata/generate/model/model_graph.h"

namespace strata {
ExpertsBlock::ExpertsBlock(ThreadPool& pool) : pool_(pool), inner_(pool), shared_block_(pool) {}

absl::Status ExpertsBlock::Run(const MixtureOfExperts& experts, ActivationBatch& x, Rows& out) {
  RETURN_IF_ERROR(Route(experts, x));
  GroupByExpert(experts);
  RETURN_IF_ERROR(RunRouted(experts, x));
  if (experts.shared.has_value()) RETURN_IF_ERROR(RunShared(experts, x));
  AddUp(experts, out);
  return absl::OkStatus();
}

absl::Status ExpertsBlock::Route(const MixtureOfExperts& experts, ActivationBatch& x) {
  RETURN_IF_ERROR(ApplyLinear(experts.router, x, pool_, router_logits_));
  const Router router(experts.routing);
  chosen_.resize(x.count());
  pool_.ParallelFor(x.count(), /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    for (int64_t i = piece.begin; i < piece.end; ++i) {
      chosen_[i] = router.Choose(router_logits_.row(i));
    }
  });
  return absl::OkStatus();
}

void ExpertsBlock::GroupByExpert(const MixtureOfExperts& experts) {
  std::vector<Group> by_expert(experts.routing.num_experts);
  num_entries_ = 0;
  for (const std::vector<ExpertChoice>& of_token : chosen_) {
    for (const ExpertChoice& choice : of_token) {
      by_expert[choice.expert].entries.push_back(num_entries_++);
    }
  }
  groups_.clear();
  for (size_t expert = 0; expert < by_expert.size(); ++expert) {
    if (by_expert[expert].entries.empty()) continue;
    by_expert[expert].expert = static_cast<int>(expert);
    groups_.push_back(std::move(by_expert[expert]));
  }
  bytes_read_ = 0;
  for (const ExpertLinears* linears : {&experts.gate, &experts.up, &experts.down}) {
    bytes_read_ +=
        static_cast<int64_t>(groups_.size()) * linears->rows * linears->Weights(0).row_bytes();
  }
}

template <typename ViewOf>
absl::Status ExpertsBlock::ApplyExperts(const ExpertLinears& linears, ViewOf view_of, Rows& y) {
  y.Resize(num_entries_, linears.rows);
  std::vector<MatrixProduct> products;
  for (const Group& group : groups_) {
    MatrixProduct& product = products.emplace_back();
    product.weights = linears.Weights(group.expert);
    for (const int64_t entry : group.entries) {
      product.xs.push_back(view_of(entry));
      product.ys.push_back(y.row(entry).data());
    }
  }
  if (!RunProducts(products, pool_)) {
    return NotFiniteError(absl::StrCat("the product of ", linears.name));
  }
  for (const Group& group : groups_) {
    for (const int64_t entry : group.entries) {
      ScaleAndAddBias(linears.scale(group.expert), linears.bias(group.expert), y.row(entry));
    }
  }
  return absl::OkStatus();
}

absl::Status ExpertsBlock::RunRouted(const MixtureOfExperts& experts, ActivationBatch& x) {
  const int num_chosen = experts.routing.num_chosen;
  for (const ExpertLinears* linears : {&experts.gate, &experts.up}) {
    const absl::Span<const ActivationView> views = x.For(linears->type);
    if (views.empty()) return NotFiniteError(absl::StrCat("the input of ", linears->name));
    RETURN_IF_ERROR(ApplyExperts(
        *linears, [&](int64_t entry) { return views[entry / num_chosen]; },
        linears == &experts.gate ? gate_ : up_));
  }
  pool_.ParallelFor(num_entries_, /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    for (int64_t entry = piece.begin; entry < piece.end; ++entry) {
      ApplyGate(experts.activation, gate_.row(entry), up_.row(entry), gate_.row(entry));
    }
  });
  inner_.Assign(gate_);
  const absl::Span<const ActivationView> views = inner_.For(experts.down.type);
  if (views.empty()) return NotFiniteError(absl::StrCat("the input of ", experts.down.name));
  return ApplyExperts(
      experts.down, [&](int64_t entry) { return views[entry]; }, down_);
}

absl::Status ExpertsBlock::RunShared(const MixtureOfExperts& experts, ActivationBatch& x) {
  RETURN_IF_ERROR(shared_block_.Run(*experts.shared, x, shared_));
  if (!experts.shared_gate.has_value()) return absl::OkStatus();
  return ApplyLinear(*experts.shared_gate, x, pool_, shared_gate_);
}

void ExpertsBlock::AddUp(const MixtureOfExperts& experts, Rows& out) {
  const int num_chosen = experts.routing.num_chosen;
  out.Resize(static_cast<int64_t>(chosen_.size()), experts.down.rows);
  pool_.ParallelFor(out.count(), /*grain=*/1, [&](const ThreadPool::Piece& piece) {
    for (int64_t i = piece.begin; i < piece.end; ++i) {
      const absl::Span<float> sum = out.row(i);
      std::fill(sum.begin(), sum.end(), 0.0f);
      for (int rank = 0; rank < num_chosen; ++rank) {
        AddWeighted(chosen_[i][rank].weight, down_.row(i * num_chosen + rank), sum);
      }
      if (!experts.shared.has_value()) continue;
      const float share =
          experts.shared_gate.has_value() ? f32::Sigmoid(shared_gate_.row(i)[0]) : 1.0f;
      AddWeighted(share, shared_.row(i), sum);
    }
  });
}

}  // namespace strata
