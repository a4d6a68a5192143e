// A message that is typed in a terminal: a line to edit, earlier ones under the arrow keys (libedit).
// A paste is told from typing by the marks that terminals put around it (bracketed paste), so that a
// pasted text of several lines is part of the message and sends nothing.
#ifndef STRATA_GENERATE_COMMANDS_TERMINAL_LINE_H_
#define STRATA_GENERATE_COMMANDS_TERMINAL_LINE_H_

#include <histedit.h>

#include <cstddef>
#include <memory>
#include <string>

#include "strata/generate/commands/interrupt.h"
#include "strata/generate/commands/message_reader.h"

namespace strata {

// Reads stdin and draws on stderr. One in a process, since it sets the locale's characters to UTF-8.
class TerminalLine : public MessageReader {
 public:
  // `interrupt` outlives it.
  explicit TerminalLine(const InterruptHandler& interrupt);

  Input Next() override;

 private:
  struct EndLine {
    void operator()(EditLine* line) const { el_end(line); }
  };
  struct EndHistory {
    void operator()(History* history) const { history_end(history); }
  };

  // As libedit wants it: 1 for a character, 0 at the end, -1 when something is wrong.
  static int ReadCharacter(EditLine* line, wchar_t* character);
  static unsigned char InsertPaste(EditLine* line, int key);
  static TerminalLine& Of(EditLine* line);

  bool FillBytes();
  bool TakeCharacter(wchar_t& character);
  std::wstring TakePaste();
  void Remember(const char* text);

  const InterruptHandler& interrupt_;
  std::string bytes_;  // Read from stdin and not yet taken.
  bool is_interrupted_ = false;
  std::unique_ptr<EditLine, EndLine> line_;
  std::unique_ptr<History, EndHistory> history_;
};

}  // namespace strata

#endif  // STRATA_GENERATE_COMMANDS_TERMINAL_LINE_H_
