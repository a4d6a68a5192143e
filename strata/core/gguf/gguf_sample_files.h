// Small sound GGUF files that between them have every kind of record: seeds for mutations, a corpus
// for fuzzing.
#ifndef STRATA_CORE_GGUF_GGUF_SAMPLE_FILES_H_
#define STRATA_CORE_GGUF_GGUF_SAMPLE_FILES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "strata/core/gguf/gguf_writer.h"

namespace strata {

// The keys of a qwen3moe model of `num_experts` experts, 8 values long, in `num_blocks` blocks.
GgufWriter MoeKeys(int num_experts, int num_blocks);

// A block's norms, router and experts of that model; `form` is "merged", "fused" or "separate".
void AddMoeBlock(int block, int num_experts, absl::string_view form, GgufWriter& writer);

struct SampleFile {
  std::string name;
  std::string bytes;
};

// Of a single file each.
std::vector<SampleFile> SampleFiles();

// The shards of a split model, in order; to be named by the pattern.
std::vector<std::string> SampleShards();

}  // namespace strata

#endif  // STRATA_CORE_GGUF_GGUF_SAMPLE_FILES_H_
