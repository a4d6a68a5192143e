#include "strata/core/note.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace strata {
namespace {

using ::testing::ElementsAre;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

TEST(NoteTest, ANoteIsOnePlainLineOnStderr) {
  CaptureStderr();
  Note("experts: 512, all in the file's mapping");
  Note("a line end\nand \x1b[31m red");
  EXPECT_EQ(GetCapturedStderr(),
            "experts: 512, all in the file's mapping\na line end\\nand \\x1b[31m red\n");
}

TEST(NoteTest, NotesWaitUntilTheAnswerIsOver) {
  CaptureStderr();
  {
    const NoteHold outer;
    {
      const NoteHold inner;
      Note("first");
    }
    Note("second");
    EXPECT_EQ(GetCapturedStderr(), "");
    CaptureStderr();
  }
  Note("third");
  EXPECT_EQ(GetCapturedStderr(), "first\nsecond\nthird\n");
}

TEST(NoteTest, ATestTakesThem) {
  CaptureStderr();
  {
    const NoteCapture capture;
    Note("one");
    Note("two");
    EXPECT_THAT(capture.notes(), ElementsAre("one", "two"));
  }
  EXPECT_EQ(GetCapturedStderr(), "");
}

// Off for the rest of the process, so in one of its own.
TEST(NoteDeathTest, QuietLeavesThemOutButNotErrors) {
  EXPECT_EXIT(
      {
        TurnOffNotes();
        Note("nobody asked");
        NoteAnyway(AreNotesOff() ? "an error" : "still on");
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "^an error\n$");
}

}  // namespace
}  // namespace strata
