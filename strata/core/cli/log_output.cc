#include "strata/core/cli/log_output.h"

#include <atomic>
#include <cstddef>
#include <ctime>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "strata/core/error.h"
#include "strata/core/note.h"

namespace strata {
namespace {

class PlainLines : public google::LogSink {
 public:
  void send(google::LogSeverity severity, const char*, const char*, int, const struct tm*,
            const char* message, size_t length) override {
    if (severity < least_.load()) return;
    const absl::string_view text(message, length);
    if (severity == google::GLOG_INFO) Note(absl::StrCat("info: ", text));
    if (severity == google::GLOG_WARNING) Note(absl::StrCat("warning: ", text));
    if (severity == google::GLOG_ERROR) NoteAnyway(absl::StrCat("error: ", text));
  }

  void set_least(google::LogSeverity least) { least_ = least; }

 private:
  std::atomic<google::LogSeverity> least_ = google::GLOG_WARNING;
};

PlainLines& Lines() {
  static auto* const lines = new PlainLines;
  return *lines;
}

}  // namespace

void StartLogs(const char* program) {
  google::InitGoogleLogging(program);
  for (const google::LogSeverity severity :
       {google::GLOG_INFO, google::GLOG_WARNING, google::GLOG_ERROR, google::GLOG_FATAL}) {
    google::SetLogDestination(severity, "");  // No files.
  }
  google::SetStderrLogging(google::GLOG_FATAL);
  google::AddLogSink(&Lines());
}

absl::Status SetLogLevel(absl::string_view level) {
  if (level == "info") {
    Lines().set_least(google::GLOG_INFO);
  } else if (level == "warning") {
    Lines().set_least(google::GLOG_WARNING);
  } else if (level == "error") {
    Lines().set_least(google::GLOG_ERROR);
  } else {
    return UsageError(
        absl::StrCat("--log_level is ", level, "; error, warning and info are known"));
  }
  return absl::OkStatus();
}

}  // namespace strata
