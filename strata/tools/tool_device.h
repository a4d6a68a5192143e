// The device that a tool moves bytes to, by its flag --device.
#ifndef STRATA_TOOLS_TOOL_DEVICE_H_
#define STRATA_TOOLS_TOOL_DEVICE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "strata/core/device.h"

namespace strata {

// `choice` is "cpu", "cuda", or "auto": a GPU if there is one, else memory of the host, of which
// stderr is told after the name of the tool and with `consequence` at its end. A UsageError for any
// other word; kUnavailable where "cuda" finds no GPU.
absl::StatusOr<std::unique_ptr<Device>> OpenToolDevice(const std::string& choice,
                                                       absl::string_view consequence);

}  // namespace strata

#endif  // STRATA_TOOLS_TOOL_DEVICE_H_
