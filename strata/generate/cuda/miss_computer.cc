#include "strata/generate/cuda/miss_computer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/core/status_macros.h"
#include "strata/generate/cpu/product_job.h"
#include "strata/generate/kernels/cuda/expert_mail.h"
#include "strata/generate/model/model_graph.h"

namespace strata {
namespace {

ProductJob::Matrix MatrixOf(const ExpertLinears& linears, int expert, const BlobParts& parts) {
  return {.name = linears.name,
          .weights = linears.Weights(parts),
          .scale = linears.scale(expert),
          .bias = linears.bias(expert)};
}

}  // namespace

MissComputer::MissComputer(const Options& options, const ModelGraph& graph, const ExpertMail& mail,
                           Locate locate)
    : MissServer(mail, static_cast<int>(graph.experts.layers().size()), options.limit),
      locate_(std::move(locate)),
      pool_(options.num_threads),
      batch_(pool_),
      gated_(pool_),
      down_(pool_) {
  CHECK_EQ(mail.width, graph.width);
  for (const Layer& layer : graph.layers) {
    if (const MixtureOfExperts* experts = ExpertsOf(layer)) layers_.push_back(experts);
  }
}

absl::Status MissComputer::Answer(int layer, absl::Span<const int32_t> experts) {
  const MixtureOfExperts& part = *layers_[static_cast<size_t>(layer)];
  const int64_t width = mail().width;
  x_.Resize(1, width);
  std::copy_n(mail().x, width, x_.row(0).begin());
  batch_.Assign(x_);
  ASSIGN_OR_RETURN(const auto gate_x, batch_.ViewsFor(part.gate.type, part.gate.name));
  ASSIGN_OR_RETURN(const auto up_x, batch_.ViewsFor(part.up.type, part.up.name));
  parts_.clear();
  gated_.Start(std::ssize(experts), part.gate.rows);
  for (const int32_t expert : experts) {
    parts_.push_back(locate_(layer * part.routing.num_experts + expert));
    gated_.AddPart({.activation = part.activation,
                    .gate = MatrixOf(part.gate, expert, parts_.back()),
                    .up = MatrixOf(part.up, expert, parts_.back()),
                    .down_type = part.down.type,
                    .down_name = part.down.name});
    gated_.AddResult(std::ssize(parts_) - 1, gate_x[0], up_x[0]);
  }
  RETURN_IF_ERROR(gated_.Run());
  down_.Clear();
  for (size_t i = 0; i < experts.size(); ++i) {
    const auto place = static_cast<int64_t>(i);
    down_.AddMatrix(MatrixOf(part.down, experts[i], parts_[i]));
    down_.AddVector(gated_.result(place),
                    absl::MakeSpan(mail().answers + place * width, static_cast<size_t>(width)));
  }
  return down_.Run();
}

}  // namespace strata
