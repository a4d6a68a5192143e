#include "strata/cache/host/registered_mapping.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "strata/core/device.h"
#include "strata/core/file_mapping.h"
#include "strata/core/pin_budget.h"
#include "strata/core/status_macros.h"

namespace strata {

RegisteredMapping::RegisteredMapping(const FileMapping& file, Device& device, PinBudget& budget,
                                     int64_t max_piece_bytes)
    : file_(file), device_(device), budget_(budget), max_piece_bytes_(max_piece_bytes) {
  CHECK_EQ(max_piece_bytes % sysconf(_SC_PAGESIZE), 0);
  if (!device.properties().can_register_read_only) {
    refusal_ = absl::UnimplementedError(
        absl::StrCat(device.properties().name, " cannot pin a file in place"));
  }
}

absl::Status RegisteredMapping::Register(absl::Span<const FileWindow> windows) {
  RETURN_IF_ERROR(refusal_);
  CHECK(pieces_.empty()) << "windows are registered already";
  for (const FileWindow& window : CutIntoPieces(windows)) {
    if (const absl::Status status = RegisterPiece(window); !status.ok()) {
      Unregister();
      return status;
    }
  }
  return absl::OkStatus();
}

absl::Status RegisteredMapping::RegisterPiece(const FileWindow& window) {
  std::optional<PinBudget::Reservation> reservation = budget_.TryReserve(window.bytes);
  if (!reservation.has_value()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("pinning ", window.bytes, " bytes of ", file_.path(), ": the pin budget (",
                     budget_.origin(), ") has ", budget_.available_bytes(), " left"));
  }
  // A deep queue for the disk; pinning alone would fault the pages in one by one.
  posix_fadvise(file_.fd(), window.offset, window.bytes, POSIX_FADV_WILLNEED);
  absl::StatusOr<HostRegistration> registration =
      device_.RegisterReadOnly(file_.bytes().subspan(window.offset, window.bytes));
  if (!registration.ok()) {
    device_.ClearError();
    const std::string message =
        absl::StrCat("pinning ", file_.path(), " in place: ", registration.status().message());
    if (absl::IsResourceExhausted(registration.status())) {
      return absl::ResourceExhaustedError(message);
    }
    refusal_ = absl::UnimplementedError(message);
    return refusal_;
  }
  pieces_.push_back({window, *std::move(reservation), *std::move(registration)});
  return absl::OkStatus();
}

void RegisteredMapping::Unregister() { pieces_.clear(); }

bool RegisteredMapping::Holds(const FileWindow& run) const {
  const auto after = std::upper_bound(
      pieces_.begin(), pieces_.end(), run.offset,
      [](int64_t offset, const Piece& piece) { return offset < piece.window.offset; });
  if (after == pieces_.begin()) return false;
  // In one piece: a copy must not span two registrations.
  const FileWindow& window = (after - 1)->window;
  return run.offset + run.bytes <= window.offset + window.bytes;
}

int64_t RegisteredMapping::registered_bytes() const {
  int64_t bytes = 0;
  for (const Piece& piece : pieces_) bytes += piece.window.bytes;
  return bytes;
}

int64_t RegisteredMapping::PinnedBytes(absl::Span<const FileWindow> windows) const {
  int64_t bytes = 0;
  for (const FileWindow& piece : CutIntoPieces(windows)) bytes += piece.bytes;
  return bytes;
}

std::vector<FileWindow> RegisteredMapping::CutIntoPieces(
    absl::Span<const FileWindow> windows) const {
  const int64_t page_bytes = sysconf(_SC_PAGESIZE);
  std::vector<FileWindow> sorted(windows.begin(), windows.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const FileWindow& a, const FileWindow& b) { return a.offset < b.offset; });
  std::vector<FileWindow> pieces;
  int64_t done = 0;  // Everything before it is in a piece, or in no window.
  for (const FileWindow& window : sorted) {
    CHECK(window.offset >= 0 && window.offset + window.bytes <= file_.size());
    int64_t start = std::max(done, window.offset / page_bytes * page_bytes);
    // The last page of the file ends with the file.
    const int64_t end = std::min(
        file_.size(), (window.offset + window.bytes + page_bytes - 1) / page_bytes * page_bytes);
    if (start < end && !pieces.empty() && pieces.back().offset + pieces.back().bytes == start) {
      const int64_t more = std::min(end - start, max_piece_bytes_ - pieces.back().bytes);
      pieces.back().bytes += more;
      start += more;
    }
    for (; start < end; start += pieces.back().bytes) {
      pieces.push_back({start, std::min(end - start, max_piece_bytes_)});
    }
    done = std::max(done, end);
  }
  return pieces;
}

}  // namespace strata
