#include "strata/tools/stage_experiments/synthetic_model.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "strata/core/block_type.h"
#include "strata/core/cli/byte_size.h"
#include "strata/core/cli/progress.h"
#include "strata/core/error.h"
#include "strata/core/gguf/gguf_value.h"
#include "strata/core/status_macros.h"

namespace strata::stagebench {
namespace {

constexpr int64_t kRowWeights = 64;
constexpr int64_t kRowBytes = kRowWeights * 2;
constexpr int64_t kBlobUnit = 3 * kRowBytes;
constexpr int64_t kAlignment = 32;
constexpr int64_t kPageBytes = 4096;
constexpr int64_t kPieceBytes = int64_t{8} << 20;
constexpr char kArchitecture[] = "qwen3moe";

int64_t RoundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

struct Tensor {
  std::string name;
  BlockType type;
  std::vector<int64_t> dims;
  int64_t bytes = 0;
};

std::vector<Tensor> Tensors(const SyntheticShape& shape) {
  const int64_t rows = shape.blob_bytes / kBlobUnit;
  const int64_t role_bytes = shape.experts * rows * kRowBytes;
  std::vector<Tensor> tensors;
  for (int layer = 0; layer < shape.layers; ++layer) {
    const std::string block = absl::StrCat("blk.", layer, ".ffn_");
    tensors.push_back({block + "gate_inp.weight",
                       BlockType::kF32,
                       {kRowWeights, shape.experts},
                       kRowWeights * shape.experts * 4});
    for (const char* role : {"gate", "up"}) {
      tensors.push_back({absl::StrCat(block, role, "_exps.weight"),
                         BlockType::kF16,
                         {kRowWeights, rows, shape.experts},
                         role_bytes});
    }
    tensors.push_back({block + "down_exps.weight",
                       BlockType::kF16,
                       {rows, kRowWeights, shape.experts},
                       role_bytes});
  }
  return tensors;
}

// The records before the data, as the GGUF specification lays them out.
class HeaderWriter {
 public:
  template <typename T>
  void Number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void String(absl::string_view text) {
    Number<uint64_t>(text.size());
    bytes_.append(text.data(), text.size());
  }
  void TextKey(absl::string_view key, absl::string_view value) {
    String(key);
    Number(static_cast<uint32_t>(GgufType::kString));
    String(value);
  }
  template <typename T>
  void NumberKey(absl::string_view name, GgufType type, T value) {
    String(absl::StrCat(kArchitecture, ".", name));
    Number(static_cast<uint32_t>(type));
    Number(value);
  }
  void CountKey(absl::string_view name, uint32_t value) { NumberKey(name, GgufType::kU32, value); }
  std::string Padded() {
    bytes_.resize(RoundUp(static_cast<int64_t>(bytes_.size()), kAlignment));
    return bytes_;
  }

 private:
  std::string bytes_;
};

std::string Header(const SyntheticShape& shape, const std::vector<Tensor>& tensors) {
  const int64_t rows = shape.blob_bytes / kBlobUnit;
  HeaderWriter header;
  header.Number<uint32_t>(0x46554747);  // "GGUF"
  header.Number<uint32_t>(3);
  header.Number<uint64_t>(tensors.size());
  header.Number<uint64_t>(11);
  header.TextKey("general.architecture", kArchitecture);
  header.TextKey("general.name", "synthetic");
  header.CountKey("block_count", shape.layers);
  header.CountKey("context_length", 4096);
  header.CountKey("embedding_length", kRowWeights);
  header.CountKey("feed_forward_length", rows);
  header.CountKey("expert_feed_forward_length", rows);
  header.CountKey("attention.head_count", 1);
  header.CountKey("expert_count", shape.experts);
  header.CountKey("expert_used_count", 1);
  header.NumberKey("attention.layer_norm_rms_epsilon", GgufType::kF32, 1e-6f);
  int64_t offset = 0;
  for (const Tensor& tensor : tensors) {
    header.String(tensor.name);
    header.Number<uint32_t>(tensor.dims.size());
    for (int64_t dim : tensor.dims) header.Number<uint64_t>(dim);
    header.Number(static_cast<uint32_t>(tensor.type));
    header.Number<uint64_t>(offset);
    offset += RoundUp(tensor.bytes, kAlignment);
  }
  return header.Padded();
}

int64_t DataBytes(const std::vector<Tensor>& tensors) {
  int64_t bytes = 0;
  for (const Tensor& tensor : tensors) bytes += RoundUp(tensor.bytes, kAlignment);
  return bytes;
}

// Random once, then stamped page by page: fast enough for files of many GiB.
void WriteData(std::ofstream& out, int64_t bytes) {
  Progress progress(
      {.label = "writing the synthetic model", .total = bytes, .unit = Progress::Unit::kBytes});
  std::vector<uint64_t> piece(kPieceBytes / sizeof(uint64_t));
  std::mt19937_64 random(1);
  std::generate(piece.begin(), piece.end(), random);
  uint64_t page = 0;
  for (int64_t written = 0; written < bytes && out; written += kPieceBytes) {
    for (size_t i = 0; i < piece.size(); i += kPageBytes / sizeof(uint64_t)) piece[i] = ++page;
    const int64_t now = std::min(kPieceBytes, bytes - written);
    out.write(reinterpret_cast<const char*>(piece.data()), now);
    progress.Add(now);
  }
}

}  // namespace

absl::StatusOr<SyntheticShape> ParseSyntheticShape(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits('x', 2));
  SyntheticShape shape;
  constexpr int kMost = 1 << 16;
  if (parts.size() != 3 || !absl::SimpleAtoi(parts[0], &shape.layers) ||
      !absl::SimpleAtoi(parts[1], &shape.experts) || shape.layers < 1 || shape.experts < 1 ||
      shape.layers > kMost || shape.experts > kMost) {
    return UsageError(absl::StrCat("--synthetic=", text,
                                   ": write it as LAYERSxEXPERTSxBYTES, as in 48x128x1.5MiB"));
  }
  ASSIGN_OR_RETURN(const int64_t bytes, ParseByteSize(parts[2]));
  constexpr int64_t kMostBytes = int64_t{1} << 44;
  const int64_t experts = int64_t{shape.layers} * shape.experts;
  if (bytes < 1 || bytes > kMostBytes / experts) {
    return UsageError(
        absl::StrCat("--synthetic=", text, ": at least 1 byte an expert, at most 16 TiB in all"));
  }
  shape.blob_bytes = RoundUp(bytes, kBlobUnit);
  return shape;
}

int64_t SyntheticModelBytes(const SyntheticShape& shape) {
  const std::vector<Tensor> tensors = Tensors(shape);
  return static_cast<int64_t>(Header(shape, tensors).size()) + DataBytes(tensors);
}

absl::Status WriteSyntheticModel(const SyntheticShape& shape, const std::string& path) {
  const std::vector<Tensor> tensors = Tensors(shape);
  const std::string header = Header(shape, tensors);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(header.data(), static_cast<std::streamsize>(header.size()));
  WriteData(out, DataBytes(tensors));
  out.close();
  if (out) return absl::OkStatus();
  return MachineError(absl::StrCat("cannot write a synthetic model of ",
                                   FormatByteSize(SyntheticModelBytes(shape)), ": ",
                                   std::strerror(errno)));
}

}  // namespace strata::stagebench
