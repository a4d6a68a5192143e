#include "strata/tools/model_screen.h"

#include <memory>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/cli/runfiles.h"
#include "strata/core/error.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/tools/model_view.h"

namespace strata {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::unique_ptr<GgufFile> Tiny() {
  return GgufFile::Open(Runfile("testdata/strata-tiny-q4_k_m.gguf").value()).value();
}

TEST(ModelScreenTest, SaysWhatAModelIs) {
  const std::unique_ptr<GgufFile> file = Tiny();
  EXPECT_EQ(ModelScreen(*file, ViewModel(*file)),
            R"(name          strata-tiny
file          strata-tiny-q4_k_m.gguf, 11.9 MiB, GGUF version 3, 66 tensors, 30 keys
architecture  qwen3moe (Qwen 3 MoE)
layers        4 of width 256, and 1 NextN block
attention     8 heads, 2 KV heads, head size 64
context       4096 tokens
parameters    19.6 million in all, 5.0 million active for a token, 3.6 million in the NextN block
experts       4 layers x 16 experts, a token uses 2 a layer (top-2), no shared expert; stored merged
one expert    108 KiB to 124 KiB by layer (110592 to 127488 bytes as a blob)
expert bytes  7.01 MiB in all (60 % of the weights), 897 KiB read for a token
NextN         1.95 MiB of experts, which the layers do not route to
dense bytes   2.70 MiB: everything that is not a routed expert
weights       experts, gate          2.25 MiB  Q4_K
              experts, up            2.25 MiB  Q4_K
              experts, down          2.51 MiB  Q4_K 67 %, Q6_K 33 %
              routers                64.0 KiB  F32
              attention               728 KiB  Q4_K 96 %, Q6_K 4 %
              token embeddings       1.64 MiB  Q6_K
              NextN block            2.22 MiB  Q4_K 61 %, Q6_K 38 %, F32 under 1 %
              norms and others       11.0 KiB  F32
tokenizer     gpt2, pre-tokenizer qwen2, 8192 tokens, with a chat template
generate      runs it
)");
}

TEST(ModelScreenTest, SaysWhyAFileIsNoModel) {
  const std::unique_ptr<GgufFile> file = Tiny();
  const absl::Status no_layers = InputError("hparams", "", "no layers at all");
  const std::string screen = ModelScreen(*file, {.status = no_layers, .runs = no_layers});
  EXPECT_THAT(screen, HasSubstr("is no model   no layers at all [hparams]\n"));
  EXPECT_THAT(screen, HasSubstr("generate      cannot run it: no layers at all [hparams]\n"));
  EXPECT_THAT(screen, HasSubstr("token embeddings"));  // What can be said is said.
  EXPECT_THAT(screen, Not(HasSubstr("parameters")));
}

TEST(ModelScreenTest, ShowsAllThatIsKnownBesideAnError) {
  const std::unique_ptr<GgufFile> file = Tiny();
  ModelView view = ViewModel(*file);
  view.status = view.runs = InputError("tokenizer_ids", "", "there is no token 9999");
  const std::string screen = ModelScreen(*file, view);
  EXPECT_THAT(screen, HasSubstr("parameters    19.6 million"));
  EXPECT_THAT(screen, HasSubstr("4 layers x 16 experts"));
  EXPECT_THAT(screen, HasSubstr("is no model   there is no token 9999 [tokenizer_ids]\n"));
}

TEST(ModelScreenTest, SaysWhetherGenerateRunsIt) {
  const std::unique_ptr<GgufFile> file = Tiny();
  ModelView view = ViewModel(*file);
  EXPECT_TRUE(view.runs.ok()) << view.runs;
  view.has_tokenizer = false;
  view.remarks = {"no part of the model uses a.weight"};
  EXPECT_THAT(
      ModelScreen(*file, view),
      HasSubstr("generate      runs it with --tokens_file: there is no tokenizer in the file\n"
                "              but no part of the model uses a.weight\n"));
}

}  // namespace
}  // namespace strata
