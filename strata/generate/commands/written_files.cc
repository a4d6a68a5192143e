#include "strata/generate/commands/written_files.h"

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "strata/cache/pack/pack_folder.h"
#include "strata/core/cli/output_files.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/generate/commands/chat_options.h"
#include "strata/generate/commands/generate_options.h"

namespace strata {
namespace {

std::vector<NamedFile> Written(const GenerateOptions& options) {
  return {{"--dump_logits", options.dump_logits},
          {"--dump_routing", options.open.experts.dump_routing}};
}

}  // namespace

absl::Status CheckWrittenFiles(const GenerateOptions& options) {
  const ChatOptions chat = options.chat.value_or(ChatOptions());
  std::vector<NamedFile> read = {{"--model", options.model},
                                 {"--expert_profile", options.open.experts.profile},
                                 {"--prompt_file", options.prompt_file.value_or("")},
                                 {"--tokens_file", options.tokens_file.value_or("")},
                                 {"--chat_template", chat.template_file},
                                 {"--tools", chat.tools_file}};
  if (const PackFolder pack(options.open.experts.pack); !pack.path().empty()) {
    read.push_back({"the manifest in --pack", pack.manifest()});
    read.push_back({"the experts in --pack", pack.experts()});
  }
  return CheckOutputs(Written(options), read);
}

absl::Status CheckWrittenFiles(const GenerateOptions& options, const GgufFile& model) {
  std::vector<NamedFile> files;
  for (const std::unique_ptr<GgufShard>& shard : model.shards()) {
    files.push_back({"a file of the model", shard->path()});
  }
  return CheckOutputs(Written(options), files);
}

}  // namespace strata
