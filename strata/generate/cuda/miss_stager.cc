#include "strata/generate/cuda/miss_stager.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/host/expert_source.h"
#include "strata/core/device.h"
#include "strata/core/device_event.h"
#include "strata/core/gguf/blob_layout.h"
#include "strata/core/status_macros.h"
#include "strata/generate/kernels/cuda/expert_mail.h"

namespace strata {

MissStager::MissStager(const ExpertGeometry& geometry, const ExpertSource& source, Device& device,
                       const ExpertMail& mail)
    : MissServer(mail, static_cast<int>(geometry.layers().size()), kLimit),
      geometry_(geometry),
      source_(source),
      device_(device) {
  for (const auto& layer : geometry.layers()) stride_ = std::max(stride_, layer.blob_bytes);
  stride_ =
      (stride_ + BlobLayout::kAlignment - 1) / BlobLayout::kAlignment * BlobLayout::kAlignment;
}

absl::StatusOr<std::unique_ptr<MissStager>> MissStager::Create(const ExpertGeometry& geometry,
                                                               const ExpertSource& source,
                                                               int num_chosen, Device& device,
                                                               const ExpertMail& mail) {
  auto stager = absl::WrapUnique(new MissStager(geometry, source, device, mail));
  ASSIGN_OR_RETURN(stager->stream_, device.CreateStream());
  ASSIGN_OR_RETURN(stager->memory_, device.Allocate(num_chosen * stager->stride_));
  return stager;
}

absl::Status MissStager::Answer(int layer, absl::Span<const int32_t> experts) {
  std::byte* to = memory_.data();
  for (const int32_t expert : experts) {
    const HostBlob blob = source_.Locate(geometry_.IdOf(layer * geometry_.num_experts() + expert));
    for (const HostBlob::Part& part : blob.parts()) {
      RETURN_IF_ERROR(device_.CopyToDevice(to + part.offset_in_blob, part.bytes, stream_));
    }
    to += stride_;
  }
  ASSIGN_OR_RETURN(const DeviceEvent arrived, device_.Record(stream_));
  return device_.Wait(arrived);
}

}  // namespace strata
