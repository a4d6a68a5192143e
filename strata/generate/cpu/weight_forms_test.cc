// The same weights, stored in the various forms that files have, give the same bits.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "strata/core/block_type.h"
#include "strata/generate/cpu/cpu_engine.h"
#include "strata/generate/engine/sequence.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/testing/open_model.h"
#include "strata/generate/testing/random_model.h"

namespace strata {
namespace {

using Tensor = RandomModel::Tensor;
using Tensors = std::vector<Tensor>;

constexpr int kExperts = 4;
constexpr int64_t kExpertBytes = 256 * 256 * 4;

std::string RandomBytes(int64_t size, uint32_t seed) {
  std::vector<float> values;
  for (int64_t i = 0; i < size; ++i) {
    seed = seed * 1664525 + 1013904223;
    values.push_back(static_cast<float>(seed >> 8) * 0x1p-28f - 0.03125f);
  }
  return RandomModel::Bytes(values);
}

// Gives every matrix bytes of its own, so that rewriting forms keeps the values.
void FillIn(Tensors& tensors) {
  uint32_t seed = 1;
  for (Tensor& tensor : tensors) {
    int64_t size = 1;
    for (const int64_t dim : tensor.dims) size *= dim;
    tensor.type = BlockType::kF32;
    if (tensor.bytes.empty()) tensor.bytes = RandomBytes(size, seed++);
  }
}

std::vector<float> LogitsOf(const std::function<void(Tensors&)>& change) {
  const RandomModel model = {.edit = [&](Tensors& tensors) {
    FillIn(tensors);
    change(tensors);
  }};
  const OpenModel open(model.Write("forms"));
  CpuEngine engine(*open.file, open.graph, {.num_threads = 2});
  Sequence sequence(engine);
  const absl::StatusOr<const StepResult*> result =
      sequence.Feed({3, 17, 42, 9}, {.logits = Sequence::Want::kAll});
  EXPECT_TRUE(result.ok()) << result.status();
  std::vector<float> logits;
  for (const absl::Span<const float> row : (*result)->logits) {
    logits.insert(logits.end(), row.begin(), row.end());
  }
  return logits;
}

std::vector<float> Plain() {
  return LogitsOf([](Tensors&) {});
}

Tensor Take(Tensors& tensors, const std::string& name) {
  for (auto at = tensors.begin(); at != tensors.end(); ++at) {
    if (at->name != name) continue;
    Tensor taken = *at;
    tensors.erase(at);
    return taken;
  }
  ADD_FAILURE() << name;
  return {};
}

TEST(WeightFormsTest, QueryKeyAndValueInOneTensor) {
  EXPECT_EQ(LogitsOf([](Tensors& tensors) {
              const Tensor q = Take(tensors, "blk.0.attn_q.weight");
              const Tensor k = Take(tensors, "blk.0.attn_k.weight");
              const Tensor v = Take(tensors, "blk.0.attn_v.weight");
              tensors.push_back({"blk.0.attn_qkv.weight",
                                 BlockType::kF32,
                                 {256, 128 + 64 + 64},
                                 q.bytes + k.bytes + v.bytes});
            }),
            Plain());
}

TEST(WeightFormsTest, GateAndUpInOneTensor) {
  EXPECT_EQ(
      LogitsOf([](Tensors& tensors) {
        const Tensor gate = Take(tensors, "blk.0.ffn_gate_exps.weight");
        const Tensor up = Take(tensors, "blk.0.ffn_up_exps.weight");
        Tensor both = {"blk.0.ffn_gate_up_exps.weight", BlockType::kF32, {256, 512, kExperts}, ""};
        for (int expert = 0; expert < kExperts; ++expert) {
          both.bytes += gate.bytes.substr(expert * kExpertBytes, kExpertBytes);
          both.bytes += up.bytes.substr(expert * kExpertBytes, kExpertBytes);
        }
        tensors.push_back(both);
      }),
      Plain());
}

TEST(WeightFormsTest, OneTensorPerExpert) {
  EXPECT_EQ(LogitsOf([](Tensors& tensors) {
              for (const std::string role : {"gate", "up", "down"}) {
                const Tensor all = Take(tensors, absl::StrCat("blk.1.ffn_", role, "_exps.weight"));
                for (int expert = 0; expert < kExperts; ++expert) {
                  tensors.push_back({absl::StrCat("blk.1.ffn_", role, ".", expert, ".weight"),
                                     BlockType::kF32,
                                     {256, 256},
                                     all.bytes.substr(expert * kExpertBytes, kExpertBytes)});
                }
              }
            }),
            Plain());
}

TEST(WeightFormsTest, AScaleMultipliesTheFinishedRow) {
  // Powers of two: halving every weight and doubling every row is exact.
  EXPECT_EQ(
      LogitsOf([](Tensors& tensors) {
        for (Tensor& tensor : tensors) {
          if (tensor.name != "blk.0.ffn_down_exps.weight" && tensor.name != "blk.1.attn_v.weight") {
            continue;
          }
          auto* values = reinterpret_cast<float*>(tensor.bytes.data());
          for (size_t i = 0; i < tensor.bytes.size() / 4; ++i) values[i] *= 0.5f;
        }
        tensors.push_back({"blk.0.ffn_down_exps.scale",
                           BlockType::kF32,
                           {kExperts},
                           RandomModel::Bytes({2, 2, 2, 2})});
        tensors.push_back({"blk.1.attn_v.scale", BlockType::kF32, {1}, RandomModel::Bytes({2})});
      }),
      Plain());
}

TEST(WeightFormsTest, OutputTiedToTheEmbedding) {
  const auto copy_embedding = [](Tensors& tensors) {
    Take(tensors, "output.weight");
    const std::string bytes = tensors[0].bytes;
    tensors.push_back({"output.weight", BlockType::kF32, {256, 64}, bytes});
  };
  EXPECT_EQ(LogitsOf([](Tensors& tensors) { Take(tensors, "output.weight"); }),
            LogitsOf(copy_embedding));
}

TEST(WeightFormsTest, ARouterOfAnotherTypeIsDecodedFirst) {
  // Values that f16 holds, so that both routers are the same numbers.
  const auto router = [](BlockType type) {
    return LogitsOf([type](Tensors& tensors) {
      for (Tensor& tensor : tensors) {
        if (tensor.name != "blk.0.ffn_gate_inp.weight") continue;
        tensor.type = type;
        tensor.bytes.clear();
        for (int i = 0; i < 256 * kExperts; ++i) {
          const uint16_t half = static_cast<uint16_t>(0x2c00 + i * 37 % 1024);  // 1/16 .. 1/8
          const float value = static_cast<float>(1024 + i * 37 % 1024) * 0x1p-14f;
          if (type == BlockType::kF16) {
            tensor.bytes.append(reinterpret_cast<const char*>(&half), sizeof(half));
          } else {
            tensor.bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
          }
        }
      }
    });
  };
  EXPECT_EQ(router(BlockType::kF16), router(BlockType::kF32));
}

}  // namespace
}  // namespace strata
