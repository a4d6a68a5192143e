// Where kernels find each expert: one entry per expert number, changed only between steps.
//
// The entries in host memory are the truth; CPU kernels and the policy read them. On request there
// is an image of them in device memory: changes reach it by copies on the stream of the kernels,
// from pinned patch buffers that are leases of a StagePool and so are owned by events. Steps that
// were launched before a change see the old entry, those after it the new one.
//
// A change is all or nothing for the host: Begin, Set ..., Commit. When the device refuses the
// copies, no entry has changed for the host, and each of them may be old or new in the image: until
// a later Begin succeeds, which first writes them again, both places must stay good.
//
// An image may instead be written by the steps themselves: BeginPatch gives what has changed since
// the step before, and the first kernel of the next step writes it, before anything reads it. Then
// a change needs no buffer and cannot be refused.
//
// Used by the decode thread alone; nothing is allocated after warm-up. Device and pool outlive it.
#ifndef STRATA_CACHE_TIER_EXPERT_TABLE_H_
#define STRATA_CACHE_TIER_EXPERT_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/cache/stage/stage_pool.h"
#include "strata/cache/tier/expert_entry.h"
#include "strata/core/device.h"
#include "strata/core/device_event.h"

namespace strata {

absl::string_view NameOf(EntryForm form);

class ExpertTable {
 public:
  // A table in host memory alone.
  explicit ExpertTable(int num_experts);
  // With an image, patched on `stream` from stages of `patches`, which is for this alone.
  static absl::StatusOr<std::unique_ptr<ExpertTable>> CreateWithImage(int num_experts,
                                                                      Device& device,
                                                                      const DeviceStream& stream,
                                                                      StagePool& patches);

  // With an image that is patched by the steps, which all run on `stream`.
  static absl::StatusOr<std::unique_ptr<ExpertTable>> CreateForSteps(int num_experts,
                                                                     Device& device,
                                                                     const DeviceStream& stream);

  ~ExpertTable();

  const ExpertEntry& entry(int number) const { return entries_[number]; }
  int size() const { return static_cast<int>(entries_.size()); }
  // Entries of the form kStage, which point nowhere.
  int num_staged() const { return num_staged_; }
  // ExpertEntry by number, in device memory; null without an image.
  const std::byte* image() const { return image_.data(); }

  enum class Wait { kNever, kForBuffers };
  // Makes room for this many changes; false when the buffers for them are all in use, and nothing
  // has begun. At most max_changes().
  absl::StatusOr<bool> Begin(int num_changes, Wait wait);
  int max_changes() const;
  // The generation is set here. An expert is set once between Begin and Commit.
  void Set(int number, const ExpertEntry& entry);
  absl::Status Commit();
  // For landing, see ExpertEntry; where an expert is does not change its mark. With patches by
  // steps.
  void Mark(int number, uint8_t landing);

  // With patches by steps: a step begins. From here on patch() is what its first kernel has to
  // write, ascending by number, until the next call.
  void BeginPatch();
  absl::Span<const TablePatch> patch() const { return patch_; }
  // It was not written: the next step gets it, too.
  void PatchLost();
  bool patched_by_steps() const { return patched_by_steps_; }

  // False while a refused change may be in the image or not: see above.
  bool is_sure() const { return unsure_.empty(); }

  // Writes the whole image anew, waiting for what it needs: at first, and after the stream has failed and
  // was drained.
  absl::Status WriteImage();

 private:
  struct Change {
    int number = 0;
    ExpertEntry entry;
  };

  int EntriesOfStage() const;
  // Leases buffers for the changes to come.
  absl::StatusOr<bool> Lease(int num_changes, Wait wait);
  // Queues the changes as copies to the image.
  absl::Status Queue();
  absl::Status QueuePatch(absl::Span<const Change> changes, const StagePool::Stage& stage);
  // Ends the leases in limbo with an event behind all their copies; keeps them while there is none.
  absl::Status Release();
  void NoteChanged(int number);
  // Copies all entries to the image and waits for the end.
  absl::Status CopyWholeImage();
  // Writes what the image is unsure of.
  absl::StatusOr<bool> Heal(Wait wait);

  std::vector<ExpertEntry> entries_;
  int num_staged_ = 0;
  std::vector<Change> changes_;  // Since Begin.

  Device* device_ = nullptr;  // With an image, as all below.
  const DeviceStream* stream_ = nullptr;
  StagePool* patches_ = nullptr;
  DeviceMemory image_;
  std::vector<int> unsure_;                 // Entries that may be old or new in the image.
  std::vector<StagePool::Stage> leases_;    // Of the patch that is being made.
  std::vector<StagePool::Stage> in_limbo_;  // Perhaps read by copies that no event stands for yet.
  std::vector<HostToDeviceCopy> copies_;
  DeviceEvent last_patch_;

  // With patches by steps.
  bool patched_by_steps_ = false;
  std::vector<int> changed_;      // Since BeginPatch.
  std::vector<bool> is_changed_;  // By number.
  std::vector<TablePatch> patch_;
};

}  // namespace strata

#endif  // STRATA_CACHE_TIER_EXPERT_TABLE_H_
