// A file without a name, for data that has to lie on a disk and must not outlive the process.
#ifndef STRATA_TOOLS_STAGE_EXPERIMENTS_TEMPORARY_FILE_H_
#define STRATA_TOOLS_STAGE_EXPERIMENTS_TEMPORARY_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "strata/core/file_descriptor.h"

namespace strata::stagebench {

// $TMPDIR, or /tmp.
std::string TemporaryFolder();

// Open for reading and writing; nobody else can open it, and whatever ends the process removes it.
// A MachineError that names the folder when it is none, cannot be written or has fewer free bytes.
absl::StatusOr<FileDescriptor> CreateTemporaryFile(const std::string& folder, int64_t bytes);

// A path by which this process can open the file again.
std::string PathOf(const FileDescriptor& file);

}  // namespace strata::stagebench

#endif  // STRATA_TOOLS_STAGE_EXPERIMENTS_TEMPORARY_FILE_H_
