#include "strata/generate/engine/engine.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/block_type.h"
#include "strata/core/error.h"
#include "strata/generate/engine/expert_weights.h"
#include "strata/generate/engine/kv_row.h"
#include "strata/generate/engine/rows.h"
#include "strata/generate/kernels/router.h"
#include "strata/generate/kernels/row_dot.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/testing/open_model.h"
#include "strata/generate/testing/random_model.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

const std::vector<TokenId> kTokens = {3, 17, 42, 0, 63, 17, 17, 8, 25, 31, 5, 60};

// The logits after each token, fed in steps of `batch`.
std::vector<float> AllLogits(Engine& engine, absl::Span<const TokenId> tokens, int64_t batch) {
  std::vector<float> all;
  while (!tokens.empty()) {
    const absl::Span<const TokenId> step = tokens.subspan(0, batch);
    const absl::StatusOr<const Rows*> rows = engine.Step(step, Engine::Want::kAllLogits);
    EXPECT_TRUE(rows.ok()) << rows.status();
    if (!rows.ok()) return all;
    for (int64_t i = 0; i < (*rows)->count(); ++i) {
      all.insert(all.end(), (*rows)->row(i).begin(), (*rows)->row(i).end());
    }
    tokens.remove_prefix(step.size());
  }
  return all;
}

std::vector<BlockType> WeightTypes() {
  std::vector<BlockType> types;
  for (const BlockTypeInfo& info : AllBlockTypes()) {
    if (ActivationFormOf(info.type).has_value()) types.push_back(info.type);
  }
  return types;
}

class EveryTypeTest : public ::testing::TestWithParam<BlockType> {};

TEST_P(EveryTypeTest, BitsDependNeitherOnThreadsNorOnTheCutIntoSteps) {
  const RandomModel random = {.type = GetParam()};
  const OpenModel model(random.Write(absl::StrCat("type_", InfoOf(GetParam()).name)));
  Engine whole(*model.file, model.graph, {.num_threads = 1});
  const std::vector<float> expected = AllLogits(whole, kTokens, 64);
  ASSERT_EQ(expected.size(), kTokens.size() * random.vocabulary);
  for (const int threads : {1, 2, 3}) {
    for (const int64_t batch : {1, 7}) {
      Engine engine(*model.file, model.graph, {.num_threads = threads});
      EXPECT_EQ(AllLogits(engine, kTokens, batch), expected)
          << threads << " threads, steps of " << batch;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, EveryTypeTest, ::testing::ValuesIn(WeightTypes()),
                         [](const auto& info) { return std::string(InfoOf(info.param).name); });

// Experts that are somewhere else each time they are used, a few at once, and nowhere afterwards.
class MovingExperts : public ExpertWeights {
 public:
  explicit MovingExperts(size_t experts_of_a_part) : experts_of_a_part_(experts_of_a_part) {}

  absl::Status ForEachPart(int /*block*/, const MixtureOfExperts& experts,
                           absl::Span<const int> chosen, Use use) override {
    for (; !chosen.empty(); chosen.remove_prefix(std::min(experts_of_a_part_, chosen.size()))) {
      std::vector<std::vector<std::byte>> copies;
      std::vector<Place> places;
      for (const int expert : chosen.subspan(0, experts_of_a_part_)) {
        Place& place = places.emplace_back();
        place.expert = expert;
        place.gate = Copy(experts.gate, expert, copies);
        place.up = Copy(experts.up, expert, copies);
        place.down = Copy(experts.down, expert, copies);
      }
      std::reverse(places.begin(), places.end());
      const absl::Status status = use(places);
      for (std::vector<std::byte>& copy : copies) std::fill(copy.begin(), copy.end(), kGone);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }
  void BeginStep() override { ++num_steps; }
  void EndStep(const absl::Status& outcome) override { num_failed += !outcome.ok(); }
  void CountRouting(int /*block*/, absl::Span<const ExpertChoice> chosen) override {
    num_routed += static_cast<int64_t>(chosen.size());
  }
  absl::Span<std::byte> BeginPrompt() override {
    return absl::MakeSpan(reinterpret_cast<std::byte*>(workspace_), sizeof(workspace_));
  }
  void EndPrompt() override {
    for (const float value : workspace_) num_written += value != 0;
    std::fill(std::begin(workspace_), std::end(workspace_), NAN);
  }

  int num_steps = 0;
  int num_failed = 0;
  int64_t num_routed = 0;
  int64_t num_written = 0;  // Values of the workspace.

 private:
  static constexpr std::byte kGone{0xEE};

  static const std::byte* Copy(const ExpertLinears& linears, int expert,
                               std::vector<std::vector<std::byte>>& copies) {
    const std::byte* const data = linears.data[expert];
    const int64_t bytes = linears.Weights(data).row_bytes() * linears.rows;
    return copies.emplace_back(data, data + bytes).data();
  }

  const size_t experts_of_a_part_;
  alignas(64) float workspace_[1 << 14] = {};
};

// One for each layer, with a gate.
void AddSharedExperts(std::vector<RandomModel::Tensor>& tensors) {
  for (int layer = 0; layer < RandomModel().num_layers; ++layer) {
    const std::string block = absl::StrCat("blk.", layer, ".");
    for (const char* role : {"gate", "up", "down"}) {
      tensors.push_back({.name = absl::StrCat(block, "ffn_", role, "_shexp.weight"),
                         .type = BlockType::kQ4_K,
                         .dims = {256, 256}});
    }
    tensors.push_back({.name = absl::StrCat(block, "ffn_gate_inp_shexp.weight"),
                       .type = BlockType::kF32,
                       .dims = {256, 1}});
  }
}

class EngineTest : public ::testing::Test {
 protected:
  const OpenModel model_ = OpenModel(RandomModel{.type = BlockType::kQ4_K}.Write("q4_k"));
};

TEST_F(EngineTest, SmallerKvTypesHaveBitsOfTheirOwnAndKeepThem) {
  Engine f32(*model_.file, model_.graph, {});
  const std::vector<float> exact = AllLogits(f32, kTokens, 64);
  for (const KvType type : {KvType::kF16, KvType::kInt8}) {
    Engine whole(*model_.file, model_.graph, {.num_threads = 2, .kv_type = type});
    const std::vector<float> logits = AllLogits(whole, kTokens, 64);
    EXPECT_NE(logits, exact);
    Engine single(*model_.file, model_.graph, {.num_threads = 3, .kv_type = type});
    EXPECT_EQ(AllLogits(single, kTokens, 1), logits);
  }
}

TEST_F(EngineTest, ARewoundEngineComputesAsAFreshOne) {
  Engine fresh(*model_.file, model_.graph, {});
  const std::vector<float> expected = AllLogits(fresh, {3, 17, 42, 9, 9, 1}, 64);
  Engine engine(*model_.file, model_.graph, {});
  AllLogits(engine, kTokens, 64);
  EXPECT_EQ(engine.position(), 12);
  EXPECT_EQ(engine.Rewind(3), 3);
  EXPECT_EQ(engine.position(), 3);
  const std::vector<float> logits = AllLogits(engine, {9, 9, 1}, 64);
  EXPECT_EQ(logits, std::vector<float>(expected.end() - logits.size(), expected.end()));
}

TEST_F(EngineTest, CountsRoutedEntriesAndEachExpertOncePerStep) {
  Engine whole(*model_.file, model_.graph, {});
  AllLogits(whole, kTokens, 64);
  EXPECT_EQ(whole.counters().routed, 12 * 2 * 2) << "tokens x layers x experts per token";
  const int64_t expert_bytes = 3 * 256 * InfoOf(BlockType::kQ4_K).block_bytes;
  EXPECT_LE(whole.counters().expert_bytes, 2 * 4 * expert_bytes) << "two layers of four experts";
  Engine single(*model_.file, model_.graph, {});
  AllLogits(single, kTokens, 1);
  EXPECT_EQ(single.counters().routed, whole.counters().routed);
  EXPECT_EQ(single.counters().expert_bytes, 12 * 2 * 2 * expert_bytes);
}

TEST_F(EngineTest, GivesOnlyTheLogitsThatAreWanted) {
  Engine engine(*model_.file, model_.graph, {});
  const absl::StatusOr<const Rows*> none = engine.Step({1, 2}, Engine::Want::kNothing);
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ((*none)->count(), 0);
  const absl::StatusOr<const Rows*> last = engine.Step({3, 4, 5}, Engine::Want::kLastLogits);
  ASSERT_TRUE(last.ok()) << last.status();
  ASSERT_EQ((*last)->count(), 1);
  Engine fresh(*model_.file, model_.graph, {});
  const std::vector<float> all = AllLogits(fresh, {1, 2, 3, 4, 5}, 64);
  const absl::Span<const float> row = (*last)->row(0);
  EXPECT_EQ(std::vector<float>(row.begin(), row.end()),
            std::vector<float>(all.end() - row.size(), all.end()));
}

// One weight of the named tensor is not a number.
RandomModel WithNan(const std::string& name) {
  return {.edit = [name](std::vector<RandomModel::Tensor>& tensors) {
    for (RandomModel::Tensor& tensor : tensors) {
      if (tensor.name != name) continue;
      int64_t size = 1;
      for (const int64_t dim : tensor.dims) size *= dim;
      std::vector<float> values(size, 0.01f);
      values[size / 2] = std::numeric_limits<float>::quiet_NaN();
      tensor.bytes = RandomModel::Bytes(values);
    }
  }};
}

TEST(EngineNanTest, NamesTheTensorWhoseValuesAreNotFinite) {
  for (const std::string name : {"blk.0.ffn_gate_inp.weight", "blk.1.attn_v.weight",
                                 "blk.0.attn_norm.weight", "output.weight"}) {
    const OpenModel model(WithNan(name).Write("nan"));
    Engine engine(*model.file, model.graph, {.num_threads = 2});
    const absl::Status status = engine.Step(kTokens, Engine::Want::kAllLogits).status();
    EXPECT_EQ(ErrorKind(status), "nan_logits") << name << ": " << status;
    EXPECT_EQ(ErrorFile(status), model.file->path());
    EXPECT_THAT(status.message(), HasSubstr(name[0] == 'b' ? name.substr(0, 6) : name));
    EXPECT_EQ(engine.position(), 0) << "a failed step leaves no trace";
  }
}

TEST(EngineFileTest, AFileThatShrinksIsANamedError) {
  const std::string path = RandomModel{}.Write("shrinks");
  const OpenModel model(path);
  Engine engine(*model.file, model.graph, {.num_threads = 2});
  ASSERT_TRUE(engine.Step({1, 2}, Engine::Want::kLastLogits).ok());
  std::filesystem::resize_file(path, 4096);
  const absl::Status status = engine.Step({3}, Engine::Want::kLastLogits).status();
  EXPECT_EQ(ErrorKind(status), "changed") << status;
  EXPECT_EQ(ErrorFile(status), path);
}

TEST_F(EngineTest, BitsDoNotDependOnWhereExpertsAre) {
  for (const bool has_shared : {false, true}) {
    RandomModel random = {.type = BlockType::kQ4_K};
    if (has_shared) random.edit = AddSharedExperts;
    const OpenModel model(random.Write(absl::StrCat("moving_", has_shared)));
    Engine mapped(*model.file, model.graph, {.num_threads = 2});
    const std::vector<float> expected = AllLogits(mapped, kTokens, 5);
    for (const size_t experts_of_a_part : {1, 2, 1000}) {
      MovingExperts experts(experts_of_a_part);
      Engine engine(*model.file, model.graph, {.num_threads = 2}, &experts);
      engine.BeginPrompt();
      const std::vector<float> logits = AllLogits(engine, kTokens, 5);
      engine.EndPrompt();
      EXPECT_EQ(logits, expected) << experts_of_a_part;
      EXPECT_EQ(experts.num_routed, engine.counters().routed);
      EXPECT_EQ(experts.num_steps, 3);
      EXPECT_EQ(experts.num_failed, 0);
      EXPECT_GT(experts.num_written, 0);
      // The workspace is gone, and the engine goes on without.
      engine.Rewind(0);
      EXPECT_EQ(AllLogits(engine, kTokens, 5), expected) << experts_of_a_part;
    }
  }
}

}  // namespace
}  // namespace strata
