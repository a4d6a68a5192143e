#include "strata/cache/pack/testing/split_model.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_shard.h"
#include "strata/core/gguf/gguf_split.h"
#include "strata/core/gguf/gguf_tensor.h"
#include "strata/core/gguf/gguf_value.h"
#include "strata/core/gguf/gguf_writer.h"

namespace strata {
namespace {

absl::string_view TextOf(absl::Span<const std::byte> bytes) {
  return absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// A record is the key, the type's number and the value.
void CopyKey(const GgufKey& key, GgufWriter& writer) {
  const char* const value = key.key.data() + key.key.size() + sizeof(uint32_t);
  const char* const end = reinterpret_cast<const char*>(key.value.end());
  writer.Key(key.key, key.value.type(),
             GgufBytes().Raw(absl::string_view(value, static_cast<size_t>(end - value))));
}

}  // namespace

std::string SplitModel(const std::string& model, const std::string& folder, const std::string& name,
                       int num_shards) {
  const std::unique_ptr<GgufFile> file = GgufFile::Open(model).value();
  const SplitName split = {.base = folder + "/" + name, .count = num_shards};
  const auto num_tensors = static_cast<int64_t>(file->tensors().size());
  int64_t tensor = 0;
  for (int shard = 0; shard < num_shards; ++shard) {
    GgufWriter writer;
    if (shard == 0) {
      for (const GgufKey& key : file->shards()[0]->keys()) CopyKey(key, writer);
    }
    writer.Key("split.no", GgufType::kU16, GgufBytes().Number(static_cast<uint16_t>(shard)))
        .Key("split.count", GgufType::kU16, GgufBytes().Number(static_cast<uint16_t>(num_shards)))
        .Key("split.tensors.count", GgufType::kI32,
             GgufBytes().Number(static_cast<int32_t>(num_tensors)));
    for (; tensor < num_tensors * (shard + 1) / num_shards; ++tensor) {
      const GgufTensor& from = file->tensors()[static_cast<size_t>(tensor)];
      writer.Tensor(from.name, from.type, {from.dims().begin(), from.dims().end()},
                    TextOf(file->Data(from)));
    }
    writer.WriteTo(ShardPath(split, shard + 1));
  }
  return ShardPath(split, 1);
}

}  // namespace strata
