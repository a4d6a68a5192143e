// Where the bytes of an expert can be read from host memory, and in which form: the one place that
// knows of registered windows, arenas, stages and plain mappings. All others take addresses.
//
// Thread-safe. What it is made of outlives it.
#ifndef STRATA_CACHE_HOST_EXPERT_SOURCE_H_
#define STRATA_CACHE_HOST_EXPERT_SOURCE_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/host/blob_reader.h"
#include "strata/cache/host/pinned_arena.h"
#include "strata/cache/host/registered_experts.h"
#include "strata/cache/stage/stage_pool.h"
#include "strata/core/gguf/expert_layout.h"

namespace strata {

enum class HostForm {
  kRegistered,  // In the mapped file, pinned in place.
  kArena,       // A pinned copy, in one piece.
  kStage,       // A pinned copy that lives as long as a lease.
  kPageable,    // Memory that the GPU cannot read, and copies from which block the caller.
};
constexpr int kNumHostForms = 4;
absl::string_view NameOf(HostForm form);

// The parts of a blob, gate, up and down as the model has them. A plain value.
struct HostBlob {
  struct Part {
    ExpertRole role = ExpertRole::kGate;
    absl::Span<const std::byte> bytes;
    int64_t offset_in_blob = 0;
  };
  HostForm form = HostForm::kPageable;
  bool in_one_piece = false;  // The parts lie in memory as in a blob.
  int num_parts = 0;
  std::array<Part, 3> part_array;

  absl::Span<const Part> parts() const { return absl::MakeConstSpan(part_array.data(), num_parts); }
  // Whether the GPU can read it where it is.
  bool pinned() const { return form != HostForm::kPageable; }
};

class ExpertSource {
 public:
  // Kernels read host memory 16 bytes at a time.
  static constexpr int64_t kPartAlignment = 16;

  // `registered` and `arena` may be null.
  ExpertSource(BlobReader& reader, const RegisteredExperts* registered, const PinnedArena* arena);

  const ExpertFiles& files() const { return reader_.files(); }
  BlobReader& reader() const { return reader_; }

  // Where the bytes are without moving any: in a registered window if all parts are pinned and
  // aligned there, else in the arena, else in the plain mapping. The address is good until the
  // windows are registered anew, or the arena releases the expert.
  HostBlob Locate(ExpertId id) const;

  // Copies the blob into a stage that holds it, and makes the stage ready. An error is the file's.
  absl::StatusOr<HostBlob> ReadToStage(ExpertId id, StagePool::Stage& stage);

  // These will be wanted soon: starts reading from disk what is neither pinned nor in memory.
  void Prefetch(absl::Span<const ExpertId> ids) const;

 private:
  // In the mapping when `start` is null, else in one piece from there.
  HostBlob BlobAt(const std::byte* start, HostForm form, ExpertId id) const;

  BlobReader& reader_;
  const RegisteredExperts* const registered_;
  const PinnedArena* const arena_;
};

}  // namespace strata

#endif  // STRATA_CACHE_HOST_EXPERT_SOURCE_H_
