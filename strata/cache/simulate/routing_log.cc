#include "strata/cache/simulate/routing_log.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/experts/model_identity.h"
#include "strata/cache/experts/routed_step.h"
#include "strata/cache/trace/routing_trace.h"
#include "strata/cache/trace/trace_records.h"
#include "strata/core/error.h"
#include "strata/core/status_macros.h"

namespace strata {

RoutingLog::RoutingLog(ExpertGeometry geometry)
    : geometry_(std::move(geometry)), counted_(geometry_.size()) {
  for (int number = 0; number < geometry_.size(); ++number) counted_[number].number = number;
}

absl::StatusOr<RoutingLog> RoutingLog::Load(absl::Span<const std::string> paths) {
  if (paths.empty()) return UsageError("name at least one trace");
  std::optional<RoutingLog> log;
  std::optional<ModelIdentity> identity;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(const std::unique_ptr<RoutingTraceReader> reader,
                     RoutingTraceReader::Open(path));
    if (!log.has_value()) {
      identity = reader->header().identity;
      log.emplace(reader->geometry());
    } else if (const absl::Status same = identity->CheckIs(reader->header().identity); !same.ok()) {
      return WithFile(same, path);
    }
    while (true) {
      ASSIGN_OR_RETURN(const std::optional<TraceRecord> record, reader->Next());
      if (!record.has_value()) break;
      if (const auto* step = std::get_if<RoutedStep>(&*record)) log->Add(*step);
    }
  }
  return *std::move(log);
}

void RoutingLog::Count(int number, int accepted, int routed) {
  ExpertUse& use = counted_[number];
  if (use.routed == 0) touched_.push_back(number);
  use.accepted += accepted;
  use.routed += routed;
}

void RoutingLog::EndStep(int num_tokens) {
  std::sort(touched_.begin(), touched_.end());
  for (const int number : touched_) {
    uses_.push_back(counted_[number]);
    counted_[number] = {.number = number};
  }
  touched_.clear();
  ends_.push_back(uses_.size());
  num_tokens_.push_back(num_tokens);
  total_tokens_ += num_tokens;
}

void RoutingLog::Add(const RoutedStep& step) {
  for (size_t layer = 0; layer < geometry_.layers().size(); ++layer) {
    const int first = static_cast<int>(layer) * geometry_.num_experts();
    for (int token = 0; token < step.num_tokens; ++token) {
      const int accepted = token < step.num_accepted ? 1 : 0;
      for (const int index : step.Chosen(geometry_, layer, token)) {
        Count(first + index, accepted, 1);
      }
    }
  }
  EndStep(step.num_tokens);
}

void RoutingLog::AddUses(absl::Span<const ExpertUse> uses, int num_tokens) {
  uses_.insert(uses_.end(), uses.begin(), uses.end());
  ends_.push_back(uses_.size());
  num_tokens_.push_back(num_tokens);
  total_tokens_ += num_tokens;
}

RoutingLog RoutingLog::Windowed(int window) const {
  CHECK_GT(window, 0);
  RoutingLog log(geometry_);
  for (size_t step = 0; step < num_steps();) {
    const size_t end = std::min(num_steps(), step + window);
    int tokens = 0;
    do {
      for (const ExpertUse& use : uses(step)) log.Count(use.number, use.accepted, use.routed);
      tokens += num_tokens_[step++];
    } while (step < end && num_tokens_[step] == 1 && num_tokens_[step - 1] == 1);
    log.EndStep(tokens);
  }
  return log;
}

std::vector<int64_t> RoutingLog::Counts() const {
  std::vector<int64_t> counts(geometry_.size(), 0);
  for (const ExpertUse& use : uses_) counts[use.number] += use.accepted;
  return counts;
}

}  // namespace strata
