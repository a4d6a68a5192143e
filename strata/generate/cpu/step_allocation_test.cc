// Once the first steps have run, a step allocates nothing.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "strata/core/allocation_counter.h"
#include "strata/core/block_type.h"
#include "strata/generate/cpu/cpu_engine.h"
#include "strata/generate/engine/sequence.h"
#include "strata/generate/testing/open_model.h"
#include "strata/generate/testing/random_model.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {
namespace {

// A token a step from position 0 on, and a draw after each.
void Decode(Sequence& sequence, absl::Span<const TokenId> tokens) {
  sequence.Rewind(0);
  for (size_t i = 0; i < tokens.size(); ++i) {
    ASSERT_TRUE(
        sequence.Feed(tokens.subspan(i, 1), {.logits = Sequence::Want::kLast, .draws = true}).ok());
  }
}

TEST(StepAllocationTest, ADecodeStepAllocatesNothing) {
  const RandomModel random = {.type = BlockType::kQ4_K};
  const OpenModel model(random.Write("step_allocation"));
  CpuEngine engine(*model.file, model.graph, {.num_threads = 2});
  Sequence sequence(engine);
  const std::vector<TokenId> warm_up = {3, 17, 42, 0, 63, 17, 17, 8};
  const std::vector<TokenId> others = {25, 31, 5, 60, 1, 2, 9, 44};
  Decode(sequence, warm_up);
  const int64_t before = NumAllocations();
  ASSERT_GT(before, 0);
  Decode(sequence, others);
  EXPECT_EQ(NumAllocations() - before, 0);
}

}  // namespace
}  // namespace strata
