#include "strata/generate/commands/chat_command.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "strata/core/status_macros.h"
#include "strata/generate/commands/answerer.h"
#include "strata/generate/commands/chat_inputs.h"
#include "strata/generate/commands/conversation.h"
#include "strata/generate/commands/generate_options.h"
#include "strata/generate/commands/generation_report.h"
#include "strata/generate/commands/interrupt.h"
#include "strata/generate/commands/written_files.h"
#include "strata/generate/engine/generator.h"
#include "strata/generate/loading/text_model.h"
#include "strata/generate/tokenizer/tokenizer.h"

namespace strata {
namespace {

// Lines of stdin. An interrupt is the end, too.
class LineReader {
 public:
  explicit LineReader(const InterruptHandler& interrupt) : interrupt_(interrupt) {}

  std::optional<std::string> Next() {
    while (true) {
      const size_t end = bytes_.find('\n');
      if (end != std::string::npos) return Take(end, end + 1);
      if (!WaitForInput()) return std::nullopt;
      char piece[4096];
      const ssize_t num_read = read(STDIN_FILENO, piece, sizeof(piece));
      if (num_read > 0) {
        bytes_.append(piece, static_cast<size_t>(num_read));
        continue;
      }
      if (bytes_.empty() || num_read < 0) return std::nullopt;
      return Take(bytes_.size(), bytes_.size());
    }
  }

 private:
  std::string Take(size_t size, size_t with_end) {
    std::string line = bytes_.substr(0, size);
    bytes_.erase(0, with_end);
    return line;
  }

  // False when the interrupt comes first.
  bool WaitForInput() const {
    pollfd ready[] = {{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                      {.fd = interrupt_.wake_fd(), .events = POLLIN, .revents = 0}};
    while (poll(ready, std::size(ready), /*timeout=*/-1) < 0 && errno == EINTR) continue;
    return ready[1].revents == 0;
  }

  const InterruptHandler& interrupt_;
  std::string bytes_;
};

class ChatLoop {
 public:
  ChatLoop(TextModel& model, const GenerateOptions& options, Conversation conversation)
      : model_(model),
        options_(options),
        is_terminal_(isatty(STDIN_FILENO) != 0),
        answerer_(model, options, interrupt_),
        conversation_(std::move(conversation)) {}

  absl::Status Run() {
    if (is_terminal_) std::cerr << "Ctrl-C stops an answer; /exit or Ctrl-D leaves.\n";
    LineReader lines(interrupt_);
    while (true) {
      interrupt_.Reset();
      if (is_terminal_) std::cerr << "> " << std::flush;
      const std::optional<std::string> line = lines.Next();
      if (!line.has_value()) break;
      const absl::string_view message = absl::StripAsciiWhitespace(*line);
      if (message == "/exit") return absl::OkStatus();
      if (!message.empty()) RETURN_IF_ERROR(Answer(std::string(message)));
    }
    if (is_terminal_) std::cerr << "\n";
    return absl::OkStatus();
  }

 private:
  absl::Status Answer(std::string message) {
    conversation_.AddUser(std::move(message));
    ASSIGN_OR_RETURN(const Conversation::Prompt prompt, FittingPrompt());
    if (prompt.ids.empty()) {
      std::cerr << "(that is longer than the context of " << model_.engine().max_context()
                << " tokens)\n";
      conversation_.DropLast();
      return absl::OkStatus();
    }
    if (options_.chat->shows_prompt) std::cerr << prompt.Text() << std::flush;
    ASSIGN_OR_RETURN(const Answerer::Answer answer, answerer_.Run(prompt.ids));
    conversation_.AddAnswer(answer.generation.ids, answer.text.size());
    if (answer.generation.stop_reason == StopReason::kLength) {
      std::cerr << "(cut after " << answer.generation.ids.size() << " tokens)\n";
    }
    if (options_.stats) std::cerr << StatsTable(answer.stats);
    return absl::OkStatus();
  }

  // The prompt, with room for an answer of some length, and for that the oldest exchanges
  // forgotten. Empty when even the last message alone does not fit.
  absl::StatusOr<Conversation::Prompt> FittingPrompt() {
    constexpr int64_t kRoom = 64;
    bool has_forgotten = false;
    while (true) {
      ASSIGN_OR_RETURN(Conversation::Prompt prompt, conversation_.NextPrompt());
      const int64_t left = model_.engine().max_context() - static_cast<int64_t>(prompt.ids.size());
      if (left >= std::min(kRoom, options_.max_new)) return prompt;
      if (!conversation_.ForgetOldest()) return left > 0 ? prompt : Conversation::Prompt();
      if (!has_forgotten) std::cerr << "(the context is full: the oldest turns are forgotten)\n";
      has_forgotten = true;
    }
  }

  TextModel& model_;
  const GenerateOptions& options_;
  const bool is_terminal_;
  InterruptHandler interrupt_;
  Answerer answerer_;
  Conversation conversation_;
};

}  // namespace

absl::Status Chat(const GenerateOptions& options) {
  RETURN_IF_ERROR(CheckWrittenFiles(options));
  ASSIGN_OR_RETURN(ChatInputs inputs, ChatInputs::Read(*options.chat));
  ASSIGN_OR_RETURN(const std::unique_ptr<TextModel> model,
                   TextModel::Open(options.model, options.open));
  RETURN_IF_ERROR(CheckWrittenFiles(options, model->file()));
  ASSIGN_OR_RETURN(const Tokenizer* tokenizer, model->NeedTokenizer());
  ASSIGN_OR_RETURN(Conversation conversation,
                   Conversation::Create(model->file(), *tokenizer, std::move(inputs)));
  RETURN_IF_ERROR(ChatLoop(*model, options, std::move(conversation)).Run());
  return model->FinishTrace();
}

}  // namespace strata
