// Models with latent attention in every form of file, run whole.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/core/block_type.h"
#include "strata/generate/cpu/cpu_engine.h"
#include "strata/generate/engine/engine.h"
#include "strata/generate/engine/kv_type.h"
#include "strata/generate/engine/sequence.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/kernels/isa.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/testing/open_model.h"
#include "strata/generate/testing/random_model.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {
namespace {

using Tensor = RandomModel::Tensor;

constexpr int64_t kWidth = 256;
constexpr int64_t kHeads = 6;  // More than go to one thread together, and no multiple.
constexpr int64_t kPlain = 32;
constexpr int64_t kRotated = 16;
constexpr int64_t kCompressed = 256;
constexpr int64_t kValue = 40;
constexpr int64_t kQueryRank = 256;

struct Form {
  BlockType type = BlockType::kF32;
  bool key_is_transposed = false;
  bool compresses_queries = false;
};

std::string NameOf(const Form& form) {
  return absl::StrCat("latent_", InfoOf(form.type).name, form.key_is_transposed ? "_k_b" : "_kv_b",
                      form.compresses_queries ? "_q_a" : "");
}

// Values of a matrix of `rows` rows that every form makes of the same numbers.
std::vector<float> Values(int64_t count, uint32_t seed) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525 + 1013904223;
    values.push_back(static_cast<float>(seed >> 8) * 0x1p-26f - 0.125f);
  }
  return values;
}

// The key and value matrices of a layer: {compressed, plain + value} per head, or apart.
void AddKeysAndValues(const std::string& block, const Form& form, std::vector<Tensor>& tensors) {
  const bool is_f32 = form.type == BlockType::kF32;
  const int64_t head_rows = kPlain + kValue;
  const std::vector<float> both = Values(kHeads * head_rows * kCompressed, 7);
  if (!form.key_is_transposed) {
    tensors.push_back({block + "attn_kv_b.weight",
                       form.type,
                       {kCompressed, kHeads * head_rows},
                       is_f32 ? RandomModel::Bytes(both) : ""});
    return;
  }
  std::vector<float> keys, values;
  for (int64_t head = 0; head < kHeads; ++head) {
    const float* const rows = &both[head * head_rows * kCompressed];
    for (int64_t column = 0; column < kCompressed; ++column) {
      for (int64_t row = 0; row < kPlain; ++row) keys.push_back(rows[row * kCompressed + column]);
    }
    values.insert(values.end(), rows + kPlain * kCompressed, rows + head_rows * kCompressed);
  }
  // Rows of the transposed matrix are shorter than a block of 256.
  tensors.push_back({block + "attn_k_b.weight",
                     is_f32 ? form.type : BlockType::kQ8_0,
                     {kPlain, kCompressed, kHeads},
                     is_f32 ? RandomModel::Bytes(keys) : ""});
  tensors.push_back({block + "attn_v_b.weight",
                     form.type,
                     {kCompressed, kValue, kHeads},
                     is_f32 ? RandomModel::Bytes(values) : ""});
}

RandomModel LatentModel(const Form& form) {
  std::map<std::string, uint32_t> numbers = {
      {"attention.head_count", kHeads},        {"attention.head_count_kv", kHeads},
      {"attention.kv_lora_rank", kCompressed}, {"attention.key_length", kPlain + kRotated},
      {"attention.value_length", kValue},      {"rope.dimension_count", kRotated}};
  if (form.key_is_transposed) {
    numbers["attention.key_length_mla"] = kPlain + kRotated;
    numbers["attention.value_length_mla"] = kValue;
    numbers["attention.key_length"] = kCompressed + kRotated;
    numbers["attention.value_length"] = kCompressed;
    numbers["attention.head_count_kv"] = 1;
  }
  if (form.compresses_queries) numbers["attention.q_lora_rank"] = kQueryRank;
  return {.architecture = "deepseek2",
          .type = form.type,
          .num_layers = 1,
          .numbers = numbers,
          .edit = [form](std::vector<Tensor>& tensors) {
            std::vector<Tensor> kept;
            for (const Tensor& tensor : tensors) {
              if (!absl::StrContains(tensor.name, ".attn_") ||
                  absl::StrContains(tensor.name, "attn_norm")) {
                kept.push_back(tensor);
              }
            }
            const int64_t query_rows = kHeads * (kPlain + kRotated);
            const std::string block = "blk.0.";
            const auto add = [&](const char* stem, std::vector<int64_t> dims, BlockType type) {
              kept.push_back({block + stem + ".weight", type, std::move(dims), ""});
            };
            const auto add_norm = [&](const char* stem, int64_t size) {
              kept.push_back({block + stem + ".weight",
                              BlockType::kF32,
                              {size},
                              RandomModel::Bytes(Values(size, 3))});
            };
            if (form.compresses_queries) {
              add("attn_q_a", {kWidth, kQueryRank}, form.type);
              add_norm("attn_q_a_norm", kQueryRank);
              add("attn_q_b", {kQueryRank, query_rows}, form.type);
            } else {
              add("attn_q", {kWidth, query_rows}, form.type);
            }
            add("attn_kv_a_mqa", {kWidth, kCompressed + kRotated}, form.type);
            add_norm("attn_kv_a_norm", kCompressed);
            AddKeysAndValues(block, form, kept);
            add("attn_output", {kHeads * kValue, kWidth}, BlockType::kF16);
            tensors = kept;
          }};
}

std::vector<TokenId> Prompt() {
  std::vector<TokenId> tokens;
  for (int i = 0; i < 67; ++i) tokens.push_back(i * 37 % 64);  // More than a tile of keys.
  return tokens;
}

std::vector<float> AllLogits(Sequence& sequence, absl::Span<const TokenId> tokens, int64_t batch) {
  std::vector<float> all;
  while (!tokens.empty()) {
    const absl::Span<const TokenId> step = tokens.subspan(0, batch);
    const absl::StatusOr<const StepResult*> result =
        sequence.Feed(step, {.logits = Sequence::Want::kAll});
    EXPECT_TRUE(result.ok()) << result.status();
    if (!result.ok()) return all;
    for (const absl::Span<const float> row : (*result)->logits) {
      all.insert(all.end(), row.begin(), row.end());
    }
    tokens.remove_prefix(step.size());
  }
  return all;
}

std::vector<float> AllLogits(const OpenModel& model, const EngineOptions& options, int64_t batch) {
  CpuEngine engine(*model.file, model.graph, options);
  Sequence sequence(engine);
  return AllLogits(sequence, Prompt(), batch);
}

std::vector<Form> Forms() {
  std::vector<Form> forms;
  for (const BlockType type : {BlockType::kF32, BlockType::kQ8_0, BlockType::kQ4_K}) {
    for (const bool key_is_transposed : {false, true}) {
      forms.push_back({type, key_is_transposed, /*compresses_queries=*/key_is_transposed});
    }
  }
  forms.push_back({BlockType::kQ4_K, true, false});
  return forms;
}

// How rows are kept has nothing to do with the weights, so one form has them all.
std::vector<KvType> KvTypesOf(const Form& form) {
  if (form.type != BlockType::kQ8_0 || !form.key_is_transposed) return {KvType::kF32};
  return {KvType::kF32, KvType::kF16, KvType::kInt8};
}

TEST(LatentAttentionTest, BitsDependOnNeitherInstructionSetNorThreadsNorTheCutIntoSteps) {
  for (const Form& form : Forms()) {
    SCOPED_TRACE(NameOf(form));
    const OpenModel model(LatentModel(form).Write(NameOf(form)));
    for (const KvType kv_type : KvTypesOf(form)) {
      SetIsa(Isa::kScalar);
      const std::vector<float> expected = AllLogits(model, {1, kv_type}, 64);
      ASSERT_EQ(expected.size(), Prompt().size() * 64);
      for (const Isa isa : AllIsas()) {
        if (isa == Isa::kScalar || !IsSupported(isa)) continue;
        SetIsa(isa);
        EXPECT_EQ(AllLogits(model, {3, kv_type}, 7), expected) << strata::NameOf(isa);
      }
      SetIsa(BestIsa());
      EXPECT_EQ(AllLogits(model, {2, kv_type}, 1), expected);
    }
  }
}

TEST(LatentAttentionTest, KeyMatricesAsTheyStandAndTransposedAreTheSameAttention) {
  const OpenModel plain(LatentModel({}).Write("plain"));
  const OpenModel transposed(
      LatentModel({.key_is_transposed = true, .compresses_queries = false}).Write("transposed"));
  EXPECT_FALSE(std::get<LatentAttention>(plain.graph.layers[0].mixer).key_is_transposed);
  EXPECT_TRUE(std::get<LatentAttention>(transposed.graph.layers[0].mixer).key_is_transposed);
  const std::vector<float> expected = AllLogits(plain, {2}, 16);
  const std::vector<float> got = AllLogits(transposed, {2}, 16);
  ASSERT_EQ(got.size(), expected.size());
  double largest = 0, size = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    largest = std::max<double>(largest, std::abs(got[i] - expected[i]));
    size = std::max<double>(size, std::abs(expected[i]));
  }
  EXPECT_GT(size, 0.1);
  EXPECT_LT(largest, 1e-4 * size);
}

TEST(LatentAttentionTest, ATokenCostsOneCompressedRowALayer) {
  const OpenModel model(LatentModel({}).Write("cost"));
  for (const auto& [type, value_bytes] : {std::pair(KvType::kF32, 4), std::pair(KvType::kF16, 2)}) {
    CpuEngine engine(*model.file, model.graph, {1, type});
    Sequence sequence(engine);
    AllLogits(sequence, Prompt(), 64);
    EXPECT_EQ(engine.kv_bytes(), 2 * 64 * (kCompressed + kRotated) * value_bytes)
        << "two pages of 64 positions";
  }
}

TEST(LatentAttentionTest, ARewoundSequenceComputesAsAFreshOne) {
  const OpenModel model(LatentModel({.type = BlockType::kQ8_0}).Write("rewound"));
  const std::vector<float> expected = AllLogits(model, {2}, 64);
  CpuEngine engine(*model.file, model.graph, {2});
  Sequence sequence(engine);
  AllLogits(sequence, Prompt(), 64);
  EXPECT_EQ(sequence.Rewind(30), 30);
  const std::vector<float> again =
      AllLogits(sequence, absl::MakeConstSpan(Prompt()).subspan(30), 11);
  EXPECT_EQ(again, std::vector<float>(expected.begin() + 30 * 64, expected.end()));
}

}  // namespace
}  // namespace strata
