#include "strata/generate/commands/terminal_line.h"

#include <histedit.h>
#include <sys/types.h>
#include <unistd.h>

#include <clocale>
#include <cstddef>
#include <cstdio>
#include <iostream>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "glog/logging.h"
#include "strata/core/utf8.h"
#include "strata/generate/commands/interrupt.h"
#include "strata/generate/commands/wait_for_input.h"

namespace strata {
namespace {

constexpr char kPasteBegins[] = "\x1b[200~";
constexpr wchar_t kPasteEnds[] = L"\x1b[201~";
constexpr absl::string_view kMarksOn = "\x1b[?2004h";
constexpr absl::string_view kMarksOff = "\x1b[?2004l";
constexpr int kNumRemembered = 200;

char* PromptSign(EditLine*) {
  static char sign[] = "> ";
  return sign;
}

// Line ends of any kind become one; other control characters would steer the terminal.
std::wstring Cleaned(const std::wstring& pasted) {
  std::wstring text;
  for (size_t i = 0; i < pasted.size(); ++i) {
    const wchar_t character = pasted[i];
    const bool is_end = character == L'\r' || character == L'\n';
    if (character == L'\r' && i + 1 < pasted.size() && pasted[i + 1] == L'\n') continue;
    if (is_end) {
      text += L'\n';
    } else if (character >= L' ' && character != L'\x7f') {
      text += character;
    } else if (character == L'\t') {
      text += L' ';
    }
  }
  return text;
}

}  // namespace

TerminalLine::TerminalLine(const InterruptHandler& interrupt)
    : interrupt_(interrupt),
      line_((std::setlocale(LC_CTYPE, "C.UTF-8"), el_init("strata", stdin, stderr, stderr))),
      history_(history_init()) {
  CHECK(line_ != nullptr && history_ != nullptr);
  HistEvent unused;
  history(history_.get(), &unused, H_SETSIZE, kNumRemembered);
  history(history_.get(), &unused, H_SETUNIQUE, 1);
  EditLine* const line = line_.get();
  el_set(line, EL_CLIENTDATA, this);
  el_set(line, EL_PROMPT, PromptSign);
  el_set(line, EL_EDITOR, "emacs");
  el_set(line, EL_HIST, history, history_.get());
  el_set(line, EL_GETCFN, ReadCharacter);
  el_set(line, EL_ADDFN, "insert-paste", "Insert what the terminal pastes.", InsertPaste);
  el_set(line, EL_BIND, kPasteBegins, "insert-paste", nullptr);
}

TerminalLine& TerminalLine::Of(EditLine* line) {
  void* self = nullptr;
  el_get(line, EL_CLIENTDATA, &self);
  return *static_cast<TerminalLine*>(self);
}

MessageReader::Input TerminalLine::Next() {
  is_interrupted_ = false;
  std::cerr << kMarksOn << std::flush;
  el_resize(line_.get());
  // el_gets would show the prompt first: who types at once would be edited by the system meanwhile.
  el_set(line_.get(), EL_PREP_TERM, 1);
  int length = 0;
  const char* const text = el_gets(line_.get(), &length);
  std::cerr << kMarksOff << std::flush;
  if (is_interrupted_) {
    std::cerr << std::endl;  // The line stays on the screen; what follows begins a new one.
    el_reset(line_.get());
    return {.event = Event::kInterrupt};
  }
  if (text == nullptr || length <= 0) {
    std::cerr << std::endl;
    return {.event = Event::kEnd};
  }
  Remember(text);
  absl::string_view message(text, static_cast<size_t>(length));
  absl::ConsumeSuffix(&message, "\n");
  return {.event = Event::kMessage, .text = std::string(message)};
}

void TerminalLine::Remember(const char* text) {
  HistEvent unused;
  if (*text != '\n') history(history_.get(), &unused, H_ENTER, text);
}

bool TerminalLine::FillBytes() {
  if (!WaitForInput(STDIN_FILENO, interrupt_)) {
    is_interrupted_ = true;
    return false;
  }
  char piece[4096];
  const ssize_t num_read = read(STDIN_FILENO, piece, sizeof(piece));
  if (num_read <= 0) return false;
  bytes_.append(piece, static_cast<size_t>(num_read));
  return true;
}

bool TerminalLine::TakeCharacter(wchar_t& character) {
  while (bytes_.empty()) {
    if (!FillBytes()) return false;
  }
  Utf8Character first = FirstUtf8Character(bytes_);
  while (first.status == Utf8Character::Status::kIncomplete) {
    if (!FillBytes()) return false;
    first = FirstUtf8Character(bytes_);
  }
  const bool is_text = first.status == Utf8Character::Status::kWellFormed;
  character = is_text ? static_cast<wchar_t>(first.code_point) : L'\xfffd';
  bytes_.erase(0, is_text ? first.num_bytes : 1);
  return true;
}

int TerminalLine::ReadCharacter(EditLine* line, wchar_t* character) {
  return Of(line).TakeCharacter(*character) ? 1 : 0;
}

std::wstring TerminalLine::TakePaste() {
  std::wstring pasted;
  wchar_t character;
  const std::wstring end = kPasteEnds;
  while (TakeCharacter(character)) {
    pasted += character;
    if (pasted.size() >= end.size() &&
        pasted.compare(pasted.size() - end.size(), end.size(), end) == 0) {
      pasted.resize(pasted.size() - end.size());
      break;
    }
  }
  return pasted;
}

unsigned char TerminalLine::InsertPaste(EditLine* line, int /*key*/) {
  const std::wstring text = Cleaned(Of(line).TakePaste());
  if (!text.empty() && el_winsertstr(line, text.c_str()) != 0) return CC_ERROR;
  return CC_REFRESH;
}

}  // namespace strata
