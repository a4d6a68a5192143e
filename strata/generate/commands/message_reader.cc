#include "strata/generate/commands/message_reader.h"

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <iostream>
#include <memory>
#include <string>

#include "strata/generate/commands/interrupt.h"
#include "strata/generate/commands/terminal_line.h"
#include "strata/generate/commands/wait_for_input.h"

namespace strata {
namespace {

// Each line is a message.
class LineReader : public MessageReader {
 public:
  explicit LineReader(const InterruptHandler& interrupt)
      : interrupt_(interrupt), is_terminal_(isatty(STDIN_FILENO) != 0) {}

  Input Next() override {
    if (is_terminal_) std::cerr << "> " << std::flush;
    while (true) {
      const size_t end = bytes_.find('\n');
      if (end != std::string::npos) return Take(end, end + 1);
      if (!WaitForInput(STDIN_FILENO, interrupt_)) {
        bytes_.clear();
        return {.event = Event::kInterrupt};
      }
      char piece[4096];
      const ssize_t num_read = read(STDIN_FILENO, piece, sizeof(piece));
      if (num_read > 0) {
        bytes_.append(piece, static_cast<size_t>(num_read));
        continue;
      }
      if (bytes_.empty() || num_read < 0) return {.event = Event::kEnd};
      return Take(bytes_.size(), bytes_.size());
    }
  }

 private:
  Input Take(size_t size, size_t with_end) {
    Input input = {.event = Event::kMessage, .text = bytes_.substr(0, size)};
    bytes_.erase(0, with_end);
    return input;
  }

  const InterruptHandler& interrupt_;
  const bool is_terminal_;
  std::string bytes_;
};

}  // namespace

std::unique_ptr<MessageReader> MessageReader::Create(const InterruptHandler& interrupt) {
  if (isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0) {
    return std::make_unique<TerminalLine>(interrupt);
  }
  return std::make_unique<LineReader>(interrupt);
}

}  // namespace strata
