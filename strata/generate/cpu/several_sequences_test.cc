// Several sequences in one step: each gets the bits that it has alone, however they join, leave and
// go back.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/core/block_type.h"
#include "strata/generate/cpu/cpu_engine.h"
#include "strata/generate/engine/engine.h"
#include "strata/generate/engine/kv_type.h"
#include "strata/generate/engine/sequence.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/sampling/sampler.h"
#include "strata/generate/testing/open_model.h"
#include "strata/generate/testing/random_delta_net.h"
#include "strata/generate/testing/random_model.h"
#include "strata/generate/testing/random_streams.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {
namespace {

constexpr int kVocabulary = 64;
constexpr int kMaxSequences = 5;
constexpr int64_t kMaxLength = 150;  // More than two pages of keys and values.

struct Answer {
  std::vector<float> logits;
  TokenId drawn = 0;
  friend bool operator==(const Answer&, const Answer&) = default;
};

SamplerOptions Sampling(uint64_t seed) { return {.temperature = 1.5f, .seed = seed}; }

// After the last of `ids`, by an engine that has nothing else to do.
Answer Alone(const OpenModel& model, KvType kv_type, uint64_t seed, absl::Span<const TokenId> ids) {
  CpuEngine engine(*model.file, model.graph, {.kv_type = kv_type});
  Sequence sequence(engine, Sampling(seed));
  const absl::StatusOr<const StepResult*> result =
      sequence.Feed(ids, {.logits = Sequence::Want::kLast, .draws = true});
  EXPECT_TRUE(result.ok()) << result.status();
  const absl::Span<const float> logits = (*result)->logits.front();
  return {.logits = {logits.begin(), logits.end()}, .drawn = (*result)->drawn.front()};
}

// An engine with some sequences, and what they answered.
class Crowd {
 public:
  Crowd(const OpenModel& model, KvType kv_type, uint32_t seed)
      : model_(model),
        kv_type_(kv_type),
        engine_(*model.file, model.graph, {.num_threads = 2, .kv_type = kv_type}),
        random_(seed) {}

  // Some join, leave or go back; then some of those that are there are in one step.
  void Step() {
    if (members_.size() < kMaxSequences && (members_.empty() || Chance(3))) Join();
    if (members_.size() > 1 && Chance(8)) members_.erase(members_.begin() + Below(members_.size()));
    for (Member& member : members_) {
      if (!Chance(6)) continue;
      if (member.sequence->Rewind(Below(member.sequence->position() + 1)) > 0) {
        ++num_rewinds_into_text_;
      }
    }
    std::shuffle(members_.begin(), members_.end(), random_);
    std::vector<StepRow> rows;
    const size_t num_in_step = 1 + Below(members_.size());
    for (size_t i = 0; i < num_in_step; ++i) AppendRows(*members_[i].sequence, rows);
    const absl::StatusOr<const StepResult*> result = engine_.Run({.rows = rows});
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_EQ((*result)->logits.size(), num_in_step);
    for (size_t i = 0; i < num_in_step; ++i) {
      const absl::Span<const float> logits = (*result)->logits[i];
      Expect(members_[i], {.logits = {logits.begin(), logits.end()}, .drawn = (*result)->drawn[i]});
    }
  }

  int num_shared_steps() const { return num_shared_steps_; }
  int num_rewinds_into_text() const { return num_rewinds_into_text_; }

 private:
  struct Member {
    uint64_t seed = 0;
    std::unique_ptr<Sequence> sequence;
  };

  int64_t Below(int64_t end) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(end));
  }
  bool Chance(int one_in) { return Below(one_in) == 0; }

  void Join() {
    const uint64_t seed = ++num_joined_;
    members_.push_back({seed, std::make_unique<Sequence>(engine_, Sampling(seed))});
  }

  void AppendRows(Sequence& sequence, std::vector<StepRow>& rows) {
    if (!rows.empty()) ++num_shared_steps_;
    if (sequence.position() + 40 > kMaxLength) sequence.Rewind(Below(20));
    std::vector<TokenId> tokens(1 + (Chance(3) ? Below(40) : 0));
    for (TokenId& token : tokens) token = static_cast<TokenId>(Below(kVocabulary));
    sequence.AppendRows(tokens, {.logits = Sequence::Want::kLast, .draws = true}, rows);
  }

  void Expect(const Member& member, const Answer& answer) {
    const absl::Span<const TokenId> ids = member.sequence->ids();
    EXPECT_TRUE(answer == Alone(model_, kv_type_, member.seed, ids))
        << members_.size() << " sequences, " << ids.size() << " tokens";
  }

  const OpenModel& model_;
  const KvType kv_type_;
  CpuEngine engine_;
  std::mt19937 random_;
  std::vector<Member> members_;
  uint64_t num_joined_ = 0;
  int num_shared_steps_ = 0;
  int num_rewinds_into_text_ = 0;
};

void ExpectTheBitsOfEachAlone(const OpenModel& model, absl::Span<const KvType> kv_types) {
  for (const KvType kv_type : kv_types) {
    for (const uint32_t seed : {1, 2, 3}) {
      Crowd crowd(model, kv_type, seed);
      for (int step = 0; step < 40; ++step) crowd.Step();
      EXPECT_GT(crowd.num_shared_steps(), 20);
      EXPECT_GT(crowd.num_rewinds_into_text(), 0);
    }
  }
}

TEST(SeveralSequencesTest, EachHasTheBitsThatItHasAlone) {
  const OpenModel model(
      RandomModel{.type = BlockType::kQ4_K, .vocabulary = kVocabulary}.Write("several"));
  ExpectTheBitsOfEachAlone(model, {KvType::kF32, KvType::kInt8});
}

TEST(SeveralSequencesTest, EachHasTheBitsThatItHasAloneWithARecurrentState) {
  const OpenModel model(
      RandomDeltaNet({.type = BlockType::kQ4_K, .vocabulary = kVocabulary}).Write("recurrent"));
  ExpectTheBitsOfEachAlone(model, {KvType::kF32});
}

TEST(SeveralSequencesTest, EachHasTheBitsThatItHasAloneWithStreamsBlocksAndATable) {
  const OpenModel model(
      RandomStreams({.type = BlockType::kQ4_K, .vocabulary = kVocabulary}).Write("streams"));
  ExpectTheBitsOfEachAlone(model, {KvType::kF16});
}

TEST(SeveralSequencesTest, AStepThatFailsFeedsNoneOfThem) {
  const OpenModel model(RandomModel{.type = BlockType::kQ4_K}.Write("several_fail"));
  CpuEngine engine(*model.file, model.graph, {});
  Sequence a(engine), b(engine);
  ASSERT_TRUE(a.Feed({1, 2, 3}, {}).ok());
  std::vector<StepRow> rows;
  a.AppendRows({4}, {.draws = true}, rows);
  b.AppendRows({5, 6}, {.draws = true}, rows);
  const std::function<bool()> stop = [] { return true; };
  EXPECT_EQ(engine.Run({.rows = rows, .should_stop = &stop}).status().code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(a.ids(), absl::Span<const TokenId>({1, 2, 3}));
  EXPECT_EQ(b.position(), 0);
}

}  // namespace
}  // namespace strata
