// A conversation in a terminal: a pseudo-terminal whose other end the test holds.
#include <poll.h>
#include <pty.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/cli/runfiles.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

class Terminal {
 public:
  // Starts `generate --chat` with answers that do not end by themselves.
  explicit Terminal(const char* max_new = "--max_new=100000") {
    const std::string program = Runfile("strata/generate/generate").value();
    child_ = forkpty(&fd_, nullptr, nullptr, nullptr);
    if (child_ != 0) return;
    setenv("TERM", "xterm", 1);
    execl(program.c_str(), "generate", "--chat", "--ignore_eos", max_new,
          static_cast<char*>(nullptr));
    _exit(127);
  }
  ~Terminal() { close(fd_); }

  void Type(const std::string& keys) {
    ASSERT_EQ(write(fd_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }

  // Reads until the screen ends with `end`, or has `more` further bytes.
  void WaitFor(const std::string& end, size_t more = 1 << 20) {
    const size_t wanted = screen_.size() + more;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (screen_.size() < wanted && !(EndsWith(end) && screen_.size() > seen_)) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << screen_;
      pollfd ready = {.fd = fd_, .events = POLLIN, .revents = 0};
      if (poll(&ready, 1, 1000) <= 0) continue;
      char bytes[4096];
      const ssize_t num_read = read(fd_, bytes, sizeof(bytes));
      ASSERT_GT(num_read, 0) << screen_;
      screen_.append(bytes, static_cast<size_t>(num_read));
    }
    seen_ = screen_.size();
  }

  // Reads what is left on the way.
  int WaitForExitCode() {
    char bytes[4096];
    for (ssize_t num_read; (num_read = read(fd_, bytes, sizeof(bytes))) > 0;) {
      screen_.append(bytes, static_cast<size_t>(num_read));
    }
    int status = 0;
    waitpid(child_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  const std::string& screen() const { return screen_; }

  // Each short answer is followed by why it is short.
  int NumAnswers() const {
    int count = 0;
    for (size_t at = 0; (at = screen_.find("(cut after", at)) != std::string::npos; ++at) ++count;
    return count;
  }

 private:
  bool EndsWith(const std::string& end) const {
    return screen_.size() >= end.size() &&
           screen_.compare(screen_.size() - end.size(), end.size(), end) == 0;
  }

  int fd_ = -1;
  pid_t child_ = -1;
  std::string screen_;
  size_t seen_ = 0;
};

TEST(ChatTerminalTest, CtrlCStopsAnAnswerAndTheConversationGoesOn) {
  Terminal terminal;
  terminal.WaitFor("> ");
  EXPECT_THAT(terminal.screen(), HasSubstr("/help"));
  terminal.Type("Hello\n");
  terminal.WaitFor("> ", 60);  // Some of an answer that has no end.
  terminal.Type("\x03");
  terminal.WaitFor("> ");
  terminal.Type("And then?\n");
  terminal.WaitFor("> ", 60);
  terminal.Type("\x03");
  terminal.WaitFor("> ");
  terminal.Type("/exit\n");
  EXPECT_EQ(terminal.WaitForExitCode(), 0) << terminal.screen();
}

TEST(ChatTerminalTest, CtrlCAtThePromptClearsTheLineAndASecondLeaves) {
  Terminal terminal("--max_new=3");
  terminal.WaitFor("> ");
  terminal.Type("never sent");
  terminal.WaitFor("sent");
  terminal.Type("\x03");
  terminal.WaitFor("> ");
  EXPECT_THAT(terminal.screen(), HasSubstr("(Ctrl-C again leaves)"));
  terminal.Type("/hlep\n");  // Nothing of the line before is in it.
  terminal.WaitFor("> ");
  EXPECT_THAT(terminal.screen(), HasSubstr("there is no command /hlep;"));
  terminal.Type("\x03");
  terminal.WaitFor("> ");
  terminal.Type("\x03");
  EXPECT_EQ(terminal.WaitForExitCode(), 0) << terminal.screen();
}

TEST(ChatTerminalTest, APastedTextOfSeveralLinesIsOneMessage) {
  Terminal terminal("--max_new=3");
  terminal.WaitFor("> ");
  EXPECT_THAT(terminal.screen(), HasSubstr("\x1b[?2004h")) << "the terminal is asked for marks";
  terminal.Type("\x1b[200~first\rsecond caf\xc3\xa9\n/quit\x1b[201~");
  terminal.WaitFor("/quit");
  EXPECT_EQ(terminal.NumAnswers(), 0) << "nothing is sent by a line end of the paste";
  terminal.Type("\n");
  terminal.WaitFor("> ");
  EXPECT_EQ(terminal.NumAnswers(), 1);
  terminal.Type("/quit\n");
  EXPECT_EQ(terminal.WaitForExitCode(), 0) << terminal.screen();
}

TEST(ChatTerminalTest, ALineIsEditedAndRemembered) {
  Terminal terminal("--max_new=3");
  terminal.WaitFor("> ");
  terminal.Type("/hleq\x7fp\n");
  terminal.WaitFor("> ");
  EXPECT_THAT(terminal.screen(), HasSubstr("there is no command /hlep;"));
  terminal.Type("\x1b[A\x7f\x7f\x7f\x7fquit\n");  // The line before, with another end.
  EXPECT_EQ(terminal.WaitForExitCode(), 0) << terminal.screen();
}

TEST(ChatTerminalTest, TheEndOfInputLeaves) {
  Terminal terminal;
  terminal.WaitFor("> ");
  terminal.Type("\x04");
  EXPECT_EQ(terminal.WaitForExitCode(), 0) << terminal.screen();
}

}  // namespace
}  // namespace strata
