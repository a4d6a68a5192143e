#include "strata/core/cli/flag_help.h"

#include <string>
#include <vector>

#include "gflags/gflags.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

DEFINE_string(model, "", "GGUF file of the model.");
DEFINE_double(adapt_decay, 0.99, "Weight that a use keeps.");
DEFINE_bool(follow, true, "Slots follow the text.");
DEFINE_bool(json, false, "Print one JSON object.");
DEFINE_int32(threads, 0, "Threads that compute. Default: one for each CPU.");
DEFINE_int32(max_new_tokens_of_answer, 256,
             "Tokens to generate, at most, where nothing else ends the answer before that.");
DEFINE_string(kv, "f32", "How the context is kept.");

namespace strata {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<FlagGroup> kGroups = {
    {.title = "Model", .flags = {"model FILE", "follow", "max_new_tokens_of_answer"}},
    {.title = "Machine", .flags = {"threads"}, .rare = {"adapt_decay", "kv TYPE"}}};

TEST(FlagHelpTest, ShowsWhatIsUsedMost) {
  EXPECT_EQ(HelpText("tool FILE\nDoes something.", kGroups, /*all=*/false),
            R"(Usage: tool FILE
Does something.

Flags
  --json                  Print one JSON object.

Model
  --model FILE            GGUF file of the model.
  --follow                Slots follow the text. (on; --nofollow turns it off)
  --max_new_tokens_of_answer N
                          Tokens to generate, at most, where nothing else ends
                          the answer before that. (default 256)

Machine
  --threads N             Threads that compute. Default: one for each CPU.

--help=all lists the rest.
)");
}

TEST(FlagHelpTest, AllShowsTheRest) {
  const std::string help = HelpText("tool", kGroups, /*all=*/true);
  EXPECT_THAT(help,
              HasSubstr("\n  --adapt_decay N         Weight that a use keeps. (default 0.99)\n"
                        "  --kv TYPE               How the context is kept. (default f32)\n"));
  EXPECT_THAT(help, Not(HasSubstr("--help=all")));
  EXPECT_THAT(help, Not(HasSubstr("logtostderr"))) << "flags of libraries";
}

TEST(FlagHelpTest, WithoutGroupsEveryFlagIsThere) {
  const std::string help = HelpText("tool", {}, /*all=*/false);
  for (const char* flag : {"--model TEXT", "--threads N", "--json", "--kv TEXT"}) {
    EXPECT_THAT(help, HasSubstr(flag));
  }
}

}  // namespace
}  // namespace strata
