#include "strata/tools/tool_device.h"

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "strata/core/cuda_device.h"
#include "strata/core/device.h"
#include "strata/core/error.h"
#include "strata/core/host_device.h"
#include "strata/core/note.h"
#include "strata/core/pin_limits.h"

namespace strata {
namespace {

// It may use half of the memory that is available: the model and its copies need some, too.
std::unique_ptr<Device> MakeHostDevice() {
  HostDevice::Options options;
  options.memory_bytes = ReadPinLimits().available_bytes.value_or(int64_t{4} << 30) / 2;
  return std::make_unique<HostDevice>(options);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> OpenToolDevice(const std::string& choice,
                                                       absl::string_view consequence) {
  if (choice == "cpu") return MakeHostDevice();
  if (choice != "cuda" && choice != "auto") {
    return UsageError(absl::StrCat("--device=", choice, " is none of cpu, cuda, auto"));
  }
  absl::StatusOr<std::unique_ptr<Device>> device = CreateCudaDevice();
  if (device.ok() || choice == "cuda") return device;
  Note(absl::StrCat("no GPU here (", device.status().message(),
                    "): memory of the host stands in for it", consequence));
  return MakeHostDevice();
}

}  // namespace strata
