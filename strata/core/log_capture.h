// Collects the warnings and errors that are logged while it lives, for tests.
#ifndef STRATA_CORE_LOG_CAPTURE_H_
#define STRATA_CORE_LOG_CAPTURE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "glog/logging.h"

namespace strata {

// glog calls sinks one at a time.
class LogCapture : public google::LogSink {
 public:
  LogCapture() { google::AddLogSink(this); }
  ~LogCapture() override { google::RemoveLogSink(this); }

  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  void send(google::LogSeverity severity, const char*, const char*, int, const struct tm*,
            const char* message, size_t length) override {
    if (severity >= google::GLOG_WARNING) warnings_.emplace_back(message, length);
  }

  std::vector<std::string> warnings_;
};

}  // namespace strata

#endif  // STRATA_CORE_LOG_CAPTURE_H_
