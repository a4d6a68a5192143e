// Windows of a mapped file, pinned where they lie, so that the GPU reads the file's own page cache.
//
// A FileMapping is always shared and read-only: pinning a private one copies each of its pages, or
// never returns. The pages are read from disk first where they are not in memory.
//
// Register is called by one thread; Holds by any number, not during Register. Mapping, device and
// budget outlive it. Offsets and sizes are in bytes of the file.
#ifndef STRATA_CACHE_HOST_REGISTERED_MAPPING_H_
#define STRATA_CACHE_HOST_REGISTERED_MAPPING_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "strata/core/device.h"
#include "strata/core/file_mapping.h"
#include "strata/core/pin_budget.h"

namespace strata {

struct FileWindow {
  int64_t offset = 0;
  int64_t bytes = 0;
};

class RegisteredMapping {
 public:
  // One registration of 512 GiB is known to fail.
  static constexpr int64_t kMaxPieceBytes = int64_t{64} << 30;

  RegisteredMapping(const FileMapping& file, Device& device, PinBudget& budget,
                    int64_t max_piece_bytes = kMaxPieceBytes);

  // Pins the pages of all windows, which may be in any order and share pages, or none of them.
  // kResourceExhausted when budget or driver have too little: fewer windows may fit. kUnimplemented
  // when the device or the file's filesystem cannot do it: that answer is remembered, and no later
  // call asks again.
  absl::Status Register(absl::Span<const FileWindow> windows);
  // Unpins everything.
  void Unregister();

  // Whether the GPU can read all of this run in place.
  bool Holds(const FileWindow& run) const;
  int64_t registered_bytes() const;
  int num_pieces() const { return static_cast<int>(pieces_.size()); }
  // Why nothing can be pinned here; ok while nothing is known against it.
  const absl::Status& refusal() const { return refusal_; }

  // The bytes that pinning these windows takes: whole pages, each once.
  int64_t PinnedBytes(absl::Span<const FileWindow> windows) const;

 private:
  struct Piece {
    FileWindow window;
    PinBudget::Reservation reservation;
    HostRegistration registration;
  };

  // Whole pages, ascending, disjoint, none longer than a piece.
  std::vector<FileWindow> CutIntoPieces(absl::Span<const FileWindow> windows) const;
  absl::Status RegisterPiece(const FileWindow& window);

  const FileMapping& file_;
  Device& device_;
  PinBudget& budget_;
  const int64_t max_piece_bytes_;
  absl::Status refusal_;
  std::vector<Piece> pieces_;  // Ascending.
};

}  // namespace strata

#endif  // STRATA_CACHE_HOST_REGISTERED_MAPPING_H_
