#include "strata/generate/cpu/cpu_engine.h"

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
#include "strata/cache/experts/expert_files.h"
#include "strata/core/block_type.h"
#include "strata/core/error.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/generate/blocks/activation_form.h"
#include "strata/generate/cpu/expert_weights.h"
#include "strata/generate/engine/engine.h"
#include "strata/generate/engine/kv_type.h"
#include "strata/generate/engine/sequence.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/mat_mul.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/weight_matrix.h"
#include "strata/generate/testing/open_model.h"
#include "strata/generate/testing/random_model.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

const std::vector<TokenId> kTokens = {3, 17, 42, 0, 63, 17, 17, 8, 25, 31, 5, 60};

// The logits after each token, fed in steps of `batch`.
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

// Of a sequence of its own.
std::vector<float> AllLogits(Engine& engine, absl::Span<const TokenId> tokens, int64_t batch) {
  Sequence sequence(engine);
  return AllLogits(sequence, tokens, batch);
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
  CpuEngine whole(*model.file, model.graph, {.num_threads = 1});
  const std::vector<float> expected = AllLogits(whole, kTokens, 64);
  ASSERT_EQ(expected.size(), kTokens.size() * random.vocabulary);
  for (const int threads : {1, 2, 3}) {
    for (const int64_t batch : {1, 7}) {
      CpuEngine engine(*model.file, model.graph, {.num_threads = threads});
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
  MovingExperts(const OpenModel& model, size_t experts_of_a_part)
      : files_(*model.file, model.graph.experts), experts_of_a_part_(experts_of_a_part) {}

  absl::Status ForEachPart(int layer, absl::Span<const int> chosen, Use use) override {
    for (; !chosen.empty(); chosen.remove_prefix(std::min(experts_of_a_part_, chosen.size()))) {
      std::vector<std::vector<std::byte>> copies;
      std::vector<Location> locations;
      for (const int expert : chosen.subspan(0, experts_of_a_part_)) {
        Location& location = locations.emplace_back();
        location.expert = expert;
        size_t part = 0;
        for (const ExpertSlice& slice : files_.Slices({.layer = layer, .index = expert})) {
          const absl::Span<const std::byte> bytes = files_.Mapped(slice);
          location.parts[part++] = copies.emplace_back(bytes.begin(), bytes.end()).data();
        }
      }
      std::reverse(locations.begin(), locations.end());
      const absl::Status status = use(locations);
      for (std::vector<std::byte>& copy : copies) std::fill(copy.begin(), copy.end(), kGone);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }
  void BeginStep() override { ++num_steps; }
  void EndStep(const absl::Status& outcome, absl::Span<const StepRow> rows,
               const StepRouting& routing) override {
    num_failed += !outcome.ok();
    EXPECT_EQ(routing.num_rows, static_cast<int>(rows.size()));
    num_routed += static_cast<int64_t>(routing.experts.size());
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

  const ExpertFiles files_;
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
  CpuEngine f32(*model_.file, model_.graph, {});
  const std::vector<float> exact = AllLogits(f32, kTokens, 64);
  for (const KvType type : {KvType::kF16, KvType::kInt8}) {
    CpuEngine whole(*model_.file, model_.graph, {.num_threads = 2, .kv_type = type});
    const std::vector<float> logits = AllLogits(whole, kTokens, 64);
    EXPECT_NE(logits, exact);
    CpuEngine single(*model_.file, model_.graph, {.num_threads = 3, .kv_type = type});
    EXPECT_EQ(AllLogits(single, kTokens, 1), logits);
  }
}

TEST_F(EngineTest, ARewoundSequenceComputesAsAFreshOne) {
  CpuEngine engine(*model_.file, model_.graph, {});
  const std::vector<float> expected = AllLogits(engine, {3, 17, 42, 9, 9, 1}, 64);
  Sequence sequence(engine);
  AllLogits(sequence, kTokens, 64);
  EXPECT_EQ(sequence.position(), 12);
  EXPECT_EQ(sequence.Rewind(3), 3);
  EXPECT_EQ(sequence.position(), 3);
  EXPECT_EQ(sequence.ids(), absl::MakeConstSpan(kTokens).subspan(0, 3));
  const std::vector<float> logits = AllLogits(sequence, {9, 9, 1}, 64);
  EXPECT_EQ(logits, std::vector<float>(expected.end() - logits.size(), expected.end()));
}

TEST_F(EngineTest, CountsRoutedEntriesAndEachExpertOncePerStep) {
  CpuEngine whole(*model_.file, model_.graph, {});
  AllLogits(whole, kTokens, 64);
  EXPECT_EQ(whole.counters().routed, 12 * 2 * 2) << "tokens x layers x experts per token";
  const int64_t expert_bytes = 3 * 256 * InfoOf(BlockType::kQ4_K).block_bytes;
  EXPECT_LE(whole.counters().expert_bytes, 2 * 4 * expert_bytes) << "two layers of four experts";
  CpuEngine single(*model_.file, model_.graph, {});
  AllLogits(single, kTokens, 1);
  EXPECT_EQ(single.counters().routed, whole.counters().routed);
  EXPECT_EQ(single.counters().expert_bytes, 12 * 2 * 2 * expert_bytes);
}

TEST_F(EngineTest, GivesOnlyWhatIsWanted) {
  CpuEngine engine(*model_.file, model_.graph, {});
  const std::vector<float> all = AllLogits(engine, {1, 2, 3, 4, 5}, 64);
  Sequence sequence(engine);
  const absl::StatusOr<const StepResult*> none = sequence.Feed({1, 2}, {});
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_TRUE((*none)->logits.empty());
  EXPECT_TRUE((*none)->drawn.empty());
  EXPECT_TRUE((*none)->hidden.empty());
  const absl::StatusOr<const StepResult*> drawn = sequence.Feed({3}, {.draws = true});
  ASSERT_TRUE(drawn.ok()) << drawn.status();
  EXPECT_TRUE((*drawn)->logits.empty());
  EXPECT_EQ((*drawn)->drawn.size(), 1u);
  const absl::StatusOr<const StepResult*> last =
      sequence.Feed({4, 5}, {.logits = Sequence::Want::kLast});
  ASSERT_TRUE(last.ok()) << last.status();
  ASSERT_EQ((*last)->logits.size(), 1u);
  const absl::Span<const float> row = (*last)->logits.front();
  EXPECT_EQ(std::vector<float>(row.begin(), row.end()),
            std::vector<float>(all.end() - row.size(), all.end()));
}

TEST_F(EngineTest, HiddenStatesAreThoseThatTheOutputMeets) {
  CpuEngine engine(*model_.file, model_.graph, {.num_threads = 2});
  Sequence sequence(engine);
  std::vector<StepRow> rows;
  sequence.AppendRows({3, 17, 42}, {.logits = Sequence::Want::kAll}, rows);
  const absl::StatusOr<const StepResult*> result = engine.Run({.rows = rows, .wants_hidden = true});
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ((*result)->hidden.size(), 3u);
  const WeightMatrix& output = model_.graph.output.weights;
  for (size_t i = 0; i < 3; ++i) {
    ActivationBuffer activation;
    ASSERT_TRUE(activation.Assign(*ActivationFormOf(output.type), (*result)->hidden[i]));
    std::vector<float> logits(output.rows);
    float* const y = logits.data();
    ASSERT_TRUE(MatMul(output, {0, output.rows}, absl::MakeConstSpan(&activation.view(), 1),
                       absl::MakeConstSpan(&y, 1)));
    EXPECT_EQ(absl::MakeConstSpan(logits), (*result)->logits[i]);
  }
}

TEST_F(EngineTest, ARowMayContinueWithWhatItsSequenceDrew) {
  CpuEngine engine(*model_.file, model_.graph, {});
  Sequence known(engine), unknown(engine);
  const TokenId drawn = (*known.Feed(kTokens, {.draws = true}))->drawn.front();
  const TokenId next = (*known.Feed({drawn}, {.draws = true}))->drawn.front();
  ASSERT_TRUE(unknown.Feed(kTokens, {.draws = true}).ok());
  EXPECT_EQ((*unknown.Feed({kLastDrawn}, {.draws = true}))->drawn.front(), next);
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
    CpuEngine engine(*model.file, model.graph, {.num_threads = 2});
    Sequence sequence(engine);
    const absl::Status status = sequence.Feed(kTokens, {.logits = Sequence::Want::kAll}).status();
    EXPECT_EQ(ErrorKind(status), "nan_logits") << name << ": " << status;
    EXPECT_EQ(ErrorFile(status), model.file->path());
    EXPECT_THAT(status.message(), HasSubstr(name[0] == 'b' ? name.substr(0, 6) : name));
    EXPECT_EQ(sequence.position(), 0) << "a failed step leaves no trace";
  }
}

TEST(EngineFileTest, AFileThatShrinksIsANamedError) {
  const std::string path = RandomModel{}.Write("shrinks");
  const OpenModel model(path);
  CpuEngine engine(*model.file, model.graph, {.num_threads = 2});
  Sequence sequence(engine);
  ASSERT_TRUE(sequence.Feed({1, 2}, {.draws = true}).ok());
  std::filesystem::resize_file(path, 4096);
  const absl::Status status = sequence.Feed({3}, {.draws = true}).status();
  EXPECT_EQ(ErrorKind(status), "changed") << status;
  EXPECT_EQ(ErrorFile(status), path);
}

TEST_F(EngineTest, BitsDoNotDependOnWhereExpertsAre) {
  for (const bool has_shared : {false, true}) {
    RandomModel random = {.type = BlockType::kQ4_K};
    if (has_shared) random.edit = AddSharedExperts;
    const OpenModel model(random.Write(absl::StrCat("moving_", has_shared)));
    CpuEngine mapped(*model.file, model.graph, {.num_threads = 2});
    const std::vector<float> expected = AllLogits(mapped, kTokens, 5);
    for (const size_t experts_of_a_part : {1, 2, 1000}) {
      MovingExperts experts(model, experts_of_a_part);
      CpuEngine engine(*model.file, model.graph, {.num_threads = 2}, &experts);
      engine.BeginPrompt();
      const std::vector<float> logits = AllLogits(engine, kTokens, 5);
      engine.EndPrompt();
      EXPECT_EQ(logits, expected) << experts_of_a_part;
      EXPECT_EQ(experts.num_routed, engine.counters().routed);
      EXPECT_EQ(experts.num_steps, 3);
      EXPECT_EQ(experts.num_failed, 0);
      EXPECT_GT(experts.num_written, 0);
      // The workspace is gone, and the engine goes on without.
      EXPECT_EQ(AllLogits(engine, kTokens, 5), expected) << experts_of_a_part;
    }
  }
}

}  // namespace
}  // namespace strata
