// The messages of a conversation, as they come from stdin: in a terminal with a line to edit, where a
// pasted text is part of the line with all its line ends; otherwise each line is a message.
#ifndef STRATA_GENERATE_COMMANDS_MESSAGE_READER_H_
#define STRATA_GENERATE_COMMANDS_MESSAGE_READER_H_

#include <memory>
#include <string>

#include "strata/generate/commands/interrupt.h"

namespace strata {

class MessageReader {
 public:
  enum class Event { kMessage, kInterrupt, kEnd };
  struct Input {
    Event event = Event::kEnd;
    std::string text;  // Without the line end that ended it.
  };

  // Chooses by what stdin and stderr are. `interrupt` outlives it.
  static std::unique_ptr<MessageReader> Create(const InterruptHandler& interrupt);
  virtual ~MessageReader() = default;

  // Waits for the next message, with a prompt sign on stderr where stdin is a terminal. What was
  // typed of a message is forgotten when the interrupt comes.
  virtual Input Next() = 0;
};

}  // namespace strata

#endif  // STRATA_GENERATE_COMMANDS_MESSAGE_READER_H_
