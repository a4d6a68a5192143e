// Pinned bytes of each kind that the experiments read from, one after the other.
#ifndef STRATA_TOOLS_STAGE_EXPERIMENTS_PINNED_SOURCES_H_
#define STRATA_TOOLS_STAGE_EXPERIMENTS_PINNED_SOURCES_H_

#include <cstddef>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/core/file_mapping.h"
#include "strata/tools/stage_experiments/bench.h"
#include "strata/tools/stage_experiments/measurement.h"

namespace strata::stagebench {

// The first whole pages of a mapped file, at most `max_bytes`, brought into memory.
absl::Span<const std::byte> WarmWindow(const FileMapping& mapping, int64_t max_bytes);

// Calls `use` with a pinned slab of huge pages, one of 4 KiB pages, and the first bytes of the
// model registered in place, `bytes` each (fewer of a smaller model); each is freed before the
// next. `refused` hears of a source that cannot be had.
absl::Status ForEachPinnedSource(
    const Bench& bench, int64_t bytes,
    const std::function<absl::Status(absl::string_view name, absl::Span<const std::byte>)>& use,
    const std::function<void(absl::string_view name, const absl::Status&)>& refused);

// Puts a refused source among the results, as an arm without figures.
std::function<void(absl::string_view, const absl::Status&)> NoteRefusals(
    absl::string_view experiment, std::vector<Measurement>& results);

}  // namespace strata::stagebench

#endif  // STRATA_TOOLS_STAGE_EXPERIMENTS_PINNED_SOURCES_H_
