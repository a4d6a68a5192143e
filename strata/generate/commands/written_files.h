// What `generate` writes is none of the files that it reads, and no two results go to one file.
#ifndef STRATA_GENERATE_COMMANDS_WRITTEN_FILES_H_
#define STRATA_GENERATE_COMMANDS_WRITTEN_FILES_H_

#include "absl/status/status.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/generate/commands/generate_options.h"

namespace strata {

// By what the command line names, before anything is opened.
absl::Status CheckWrittenFiles(const GenerateOptions& options);

// By the files of a split model, which the command line need not name.
absl::Status CheckWrittenFiles(const GenerateOptions& options, const GgufFile& model);

}  // namespace strata

#endif  // STRATA_GENERATE_COMMANDS_WRITTEN_FILES_H_
