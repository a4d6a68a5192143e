#include "strata/cache/pack/testing/small_model.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "gtest/gtest.h"
#include "strata/cache/experts/model_identity.h"
#include "strata/cache/pack/pack_builder.h"
#include "strata/core/block_type.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_value.h"
#include "strata/core/gguf/gguf_writer.h"
#include "strata/core/gguf/model_config.h"
#include "strata/core/status_macros.h"

namespace strata {
namespace {

class Writer {
 public:
  explicit Writer(const SmallModelShape& shape)
      : shape_(shape), random_(shape.seed), shards_(static_cast<size_t>(shape.shards)) {}

  void Add(int shard, const std::string& name, const std::vector<int64_t>& dims) {
    int64_t bytes = sizeof(float);
    for (const int64_t dim : dims) bytes *= dim;
    std::string data(static_cast<size_t>(bytes), '\0');
    for (char& byte : data) byte = static_cast<char>(random_());
    shards_[static_cast<size_t>(shard)].push_back({name, dims, std::move(data)});
    ++num_tensors_;
  }

  void AddBlock(int block) {
    const int shard = block % shape_.shards;
    const int64_t width = shape_.width, experts = shape_.experts;
    const std::string prefix = absl::StrCat("blk.", block, ".ffn_");
    Add(shard, prefix + "norm.weight", {width});
    Add(shard, prefix + "gate_inp.weight", {width, experts});
    if (shape_.form == "separate") {
      for (int64_t expert = 0; expert < experts; ++expert) {
        for (const char* role : {"gate", "up", "down"}) {
          Add(shard, absl::StrCat(prefix, role, ".", expert, ".weight"), {width, width});
        }
      }
      return;
    }
    if (shape_.form == "fused") {
      Add(shard, prefix + "gate_up_exps.weight", {width, 2 * width, experts});
    } else {
      Add(shard, prefix + "gate_exps.weight", {width, width, experts});
      Add(shard, prefix + "up_exps.weight", {width, width, experts});
    }
    Add(shard, prefix + "down_exps.weight", {width, width, experts});
  }

  std::string Shard(int number) const {
    GgufWriter writer = number == 0 ? Keys() : GgufWriter();
    if (shape_.shards > 1) {
      writer.Key("split.no", GgufType::kU16, GgufBytes().Number(static_cast<uint16_t>(number)));
      writer.Key("split.count", GgufType::kU16,
                 GgufBytes().Number(static_cast<uint16_t>(shape_.shards)));
      writer.Key("split.tensors.count", GgufType::kI32, GgufBytes().Number(num_tensors_));
    }
    for (const Tensor& tensor : shards_[static_cast<size_t>(number)]) {
      writer.Tensor(tensor.name, BlockType::kF32, tensor.dims, tensor.data);
    }
    return writer.Build();
  }

 private:
  struct Tensor {
    std::string name;
    std::vector<int64_t> dims;
    std::string data;
  };

  GgufWriter Keys() const {
    GgufWriter writer;
    writer.Key("general.architecture", "qwen3moe")
        .Key("qwen3moe.block_count", static_cast<uint32_t>(shape_.layers))
        .Key("qwen3moe.context_length", uint32_t{64})
        .Key("qwen3moe.embedding_length", static_cast<uint32_t>(shape_.width))
        .Key("qwen3moe.attention.head_count", uint32_t{2})
        .Key("qwen3moe.attention.layer_norm_rms_epsilon", 1e-6f)
        .Key("qwen3moe.expert_count", static_cast<uint32_t>(shape_.experts))
        .Key("qwen3moe.expert_used_count", uint32_t{1});
    return writer;
  }

  const SmallModelShape shape_;
  std::mt19937_64 random_;
  std::vector<std::vector<Tensor>> shards_;
  int32_t num_tensors_ = 0;
};

}  // namespace

std::string WriteSmallModel(const std::string& folder, const std::string& name,
                            const SmallModelShape& shape) {
  Writer writer(shape);
  writer.Add(0, "output_norm.weight", {shape.width});
  for (int block = 0; block < shape.layers; ++block) writer.AddBlock(block);
  const auto path = [&](int shard) {
    return shape.shards == 1
               ? absl::StrCat(folder, "/", name, ".gguf")
               : absl::StrFormat("%s/%s-%05d-of-%05d.gguf", folder, name, shard + 1, shape.shards);
  };
  for (int shard = 0; shard < shape.shards; ++shard) WriteFile(path(shard), writer.Shard(shard));
  return path(0);
}

OpenModel::OpenModel(const std::string& path) : file(GgufFile::Open(path).value()) {
  const absl::StatusOr<ModelConfig> config = ModelConfig::Create(*file);
  CHECK(config.ok()) << config.status();
  layout = ExpertLayout::Create(*file, *config).value();
  identity = ModelIdentity::Of(*file, layout).value();
}

PackBuilder::Options PackOptions(const OpenModel& model, const std::string& folder,
                                 std::vector<int> order) {
  if (order.empty()) {
    order.resize(static_cast<size_t>(model.identity.geometry.size()));
    std::iota(order.begin(), order.end(), 0);
  }
  return {.folder = folder,
          .writes_experts = true,
          .order_of_experts = std::move(order),
          .tool = "a test",
          .resume = "the same test"};
}

absl::Status BuildPack(const OpenModel& model, const PackBuilder::Options& options) {
  ASSIGN_OR_RETURN(const std::unique_ptr<PackBuilder> builder,
                   PackBuilder::Create(*model.file, model.layout, model.identity, options));
  return builder->Build();
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  CHECK(file.good()) << path;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  file.close();
  PCHECK(file.good()) << path;
}

void Flip(const std::string& path, int64_t offset, char bits) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  PCHECK(fd >= 0) << path;
  char byte = 0;
  PCHECK(pread(fd, &byte, 1, offset) == 1);
  byte = static_cast<char>(byte ^ bits);
  PCHECK(pwrite(fd, &byte, 1, offset) == 1);
  PCHECK(close(fd) == 0);
}

std::string NewFolder(const std::string& name) {
  static int number = 0;
  const std::string path =
      absl::StrCat(testing::TempDir(), "/", name, "_", getpid(), "_", number++);
  std::filesystem::create_directories(path);
  return path;
}

}  // namespace strata
