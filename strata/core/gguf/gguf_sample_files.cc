#include "strata/core/gguf/gguf_sample_files.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "strata/core/block_type.h"
#include "strata/core/gguf/gguf_value.h"
#include "strata/core/gguf/gguf_writer.h"

namespace strata {
namespace {

constexpr int kLength = 8;  // embedding_length and the experts' width.

GgufWriter EveryValueType() {
  GgufWriter writer;
  writer.Key("t.u8", GgufType::kU8, GgufBytes().Number(uint8_t{255}));
  writer.Key("t.i8", GgufType::kI8, GgufBytes().Number(int8_t{-128}));
  writer.Key("t.u16", GgufType::kU16, GgufBytes().Number(uint16_t{65535}));
  writer.Key("t.i16", GgufType::kI16, GgufBytes().Number(int16_t{-32768}));
  writer.Key("t.u32", uint32_t{4000000000});
  writer.Key("t.i32", GgufType::kI32, GgufBytes().Number(int32_t{-5}));
  writer.Key("t.f32", 1.5f);
  writer.Key("t.bool", true);
  writer.Key("t.str", "text");
  writer.Key("t.u64", GgufType::kU64, GgufBytes().Number(~uint64_t{0}));
  writer.Key("t.i64", GgufType::kI64, GgufBytes().Number(int64_t{-1}));
  writer.Key("t.f64", GgufType::kF64, GgufBytes().Number(-2.5e300));
  writer.Key("t.ints", std::vector<int32_t>{1, -2, 3});
  writer.Key("t.strings", std::vector<std::string>{"", "a", "\xff"});
  return writer;
}

GgufWriter NestedArrays() {
  GgufBytes nested;
  nested.Type(GgufType::kArray).Number(uint64_t{2});
  nested.Type(GgufType::kBool).Number(uint64_t{2}).Number(uint8_t{1}).Number(uint8_t{0});
  nested.Type(GgufType::kArray).Number(uint64_t{1});
  nested.Type(GgufType::kString).Number(uint64_t{1}).String("deep");
  return GgufWriter().Key("n.nested", GgufType::kArray, nested).Key("n.after", uint32_t{7});
}

GgufWriter ManyTensors() {
  GgufWriter writer;
  writer.set_alignment(8).Tensor("scalar", BlockType::kF32, {});
  writer.Tensor("vector", BlockType::kI8, {5});
  writer.Tensor("empty", BlockType::kF32, {4, 0});
  writer.Tensor("quantized", BlockType::kQ8_0, {32, 2, 1, 1});
  writer.Tensor("mxfp4", BlockType::kMXFP4, {64});
  return writer;
}

GgufWriter Model(absl::string_view form, int num_experts) {
  GgufWriter writer = MoeKeys(num_experts, 1);
  AddMoeBlock(0, num_experts, form, writer);
  return writer;
}

}  // namespace

GgufWriter MoeKeys(int num_experts, int num_blocks) {
  GgufWriter writer;
  writer.Key("general.architecture", "qwen3moe");
  writer.Key("qwen3moe.block_count", static_cast<uint32_t>(num_blocks));
  writer.Key("qwen3moe.context_length", uint32_t{64});
  writer.Key("qwen3moe.embedding_length", uint32_t{kLength});
  writer.Key("qwen3moe.attention.head_count", uint32_t{2});
  writer.Key("qwen3moe.attention.layer_norm_rms_epsilon", 1e-6f);
  writer.Key("qwen3moe.expert_count", static_cast<uint32_t>(num_experts));
  writer.Key("qwen3moe.expert_used_count", uint32_t{1});
  return writer;
}

void AddMoeBlock(int block, int num_experts, absl::string_view form, GgufWriter& writer) {
  const std::string prefix = absl::StrCat("blk.", block, ".");
  const auto add = [&](absl::string_view name, const std::vector<int64_t>& dims) {
    writer.Tensor(absl::StrCat(prefix, name), BlockType::kF32, dims);
  };
  add("ffn_norm.weight", {kLength});
  add("ffn_gate_inp.weight", {kLength, num_experts});
  if (form == "separate") {
    for (int expert = 0; expert < num_experts; ++expert) {
      for (const char* role : {"gate", "up", "down"}) {
        add(absl::StrCat("ffn_", role, ".", expert, ".weight"), {kLength, kLength});
      }
    }
    return;
  }
  if (form == "fused") {
    add("ffn_gate_up_exps.weight", {kLength, 2 * kLength, num_experts});
  } else {
    add("ffn_gate_exps.weight", {kLength, kLength, num_experts});
    add("ffn_up_exps.weight", {kLength, kLength, num_experts});
  }
  add("ffn_down_exps.weight", {kLength, kLength, num_experts});
}

std::vector<SampleFile> SampleFiles() {
  return {
      {"every_value_type", EveryValueType().Build()},
      {"nested_arrays", NestedArrays().Build()},
      {"many_tensors", ManyTensors().Build()},
      {"version_2", ManyTensors().set_version(2).Build()},
      {"moe_merged", Model("merged", 2).Build()},
      {"moe_fused", Model("fused", 2).Build()},
      {"moe_separate", Model("separate", 2).Build()},
      {"empty", GgufWriter().Build()},
  };
}

std::vector<std::string> SampleShards() {
  std::vector<std::string> shards;
  for (int number = 0; number < 2; ++number) {
    GgufWriter writer = number == 0 ? MoeKeys(2, 2) : GgufWriter();
    writer.Key("split.no", GgufType::kU16, GgufBytes().Number(static_cast<uint16_t>(number)));
    writer.Key("split.count", GgufType::kU16, GgufBytes().Number(uint16_t{2}));
    writer.Key("split.tensors.count", GgufType::kI32, GgufBytes().Number(int32_t{10}));
    AddMoeBlock(number, 2, "merged", writer);
    shards.push_back(writer.Build());
  }
  return shards;
}

}  // namespace strata
