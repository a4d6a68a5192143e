#include "strata/generate/sampling/chat_sampling.h"

#include <cstdint>
#include <memory>

#include "gtest/gtest.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_writer.h"
#include "strata/core/gguf/scratch_file.h"
#include "strata/generate/sampling/sampler.h"

namespace strata {
namespace {

SamplerOptions SamplingOf(const GgufWriter& writer) {
  ScratchFile scratch;
  scratch.Set(writer.Build());
  return ChatSampling(*GgufFile::Open(scratch.path()).value());
}

TEST(ChatSamplingTest, VariesAnswersOfAFileThatRecommendsNothing) {
  const SamplerOptions options = SamplingOf(GgufWriter());
  EXPECT_EQ(options.temperature, 0.7f);
  EXPECT_EQ(options.top_k, 0);
  EXPECT_EQ(options.top_p, 0.95f);
  EXPECT_EQ(options.min_p, 0.05f);
  EXPECT_EQ(options.repetition_penalty, 1.0f);
}

TEST(ChatSamplingTest, TakesWhatTheFileRecommendsAndNothingElse) {
  GgufWriter writer;
  writer.Key("general.sampling.temp", 0.6f)
      .Key("general.sampling.top_k", uint32_t{20})
      .Key("general.sampling.top_p", 0.9f)
      .Key("general.sampling.penalty_repeat", 1.05f)
      .Key("general.sampling.penalty_last_n", uint32_t{32});
  const SamplerOptions options = SamplingOf(writer);
  EXPECT_EQ(options.temperature, 0.6f);
  EXPECT_EQ(options.top_k, 20);
  EXPECT_EQ(options.top_p, 0.9f);
  EXPECT_EQ(options.min_p, 0.0f);
  EXPECT_EQ(options.repetition_penalty, 1.05f);
  EXPECT_EQ(options.repetition_window, 32);
}

TEST(ChatSamplingTest, LeavesOutWhatIsNoPossibleValue) {
  GgufWriter writer;
  writer.Key("general.sampling.temp", "hot")
      .Key("general.sampling.top_p", 0.0f)
      .Key("general.sampling.top_k", 2.5f)
      .Key("general.sampling.penalty_last_n", 16.0f)
      .Key("general.sampling.min_p", 0.1f);
  const SamplerOptions options = SamplingOf(writer);
  EXPECT_EQ(options.temperature, 0.7f);
  EXPECT_EQ(options.top_p, 1.0f);
  EXPECT_EQ(options.top_k, SamplerOptions().top_k);
  EXPECT_EQ(options.repetition_window, 16);
  EXPECT_EQ(options.min_p, 0.1f);
}

}  // namespace
}  // namespace strata
