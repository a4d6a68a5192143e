#include "strata/generate/commands/chat_command.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "strata/core/error.h"
#include "strata/core/note.h"
#include "strata/core/status_macros.h"
#include "strata/generate/chat/chat_message.h"
#include "strata/generate/commands/answerer.h"
#include "strata/generate/commands/chat_inputs.h"
#include "strata/generate/commands/conversation.h"
#include "strata/generate/commands/generate_options.h"
#include "strata/generate/commands/idle_flags.h"
#include "strata/generate/commands/interrupt.h"
#include "strata/generate/commands/message_reader.h"
#include "strata/generate/commands/stats_table.h"
#include "strata/generate/commands/stop_note.h"
#include "strata/generate/commands/written_files.h"
#include "strata/generate/loading/text_model.h"
#include "strata/generate/tokenizer/tokenizer.h"

namespace strata {
namespace {

constexpr char kHelp[] =
    "/help   this list\n"
    "/quit   leaves, as do /exit and Ctrl-D\n"
    "Ctrl-C  ends an answer, which is kept as far as it came; at the prompt it clears the line,\n"
    "        and a second one leaves\n"
    "A pasted text of several lines is one message.\n";

// "/hlep", and not "/etc/fstab looks odd".
bool IsCommand(absl::string_view message) {
  return absl::ConsumePrefix(&message, "/") && !message.empty() &&
         std::all_of(message.begin(), message.end(), absl::ascii_isalpha);
}

class ChatLoop {
 public:
  ChatLoop(TextModel& model, const GenerateOptions& options, Conversation conversation)
      : model_(model),
        options_(options),
        answerer_(model, options, interrupt_),
        conversation_(std::move(conversation)) {}

  absl::Status Run() {
    NoteIdleFlags(RunFactsOf(model_, answerer_.sampling(), /*has_text=*/true));
    if (isatty(STDIN_FILENO) != 0) Note("/help says what can be typed; /quit leaves");
    const std::unique_ptr<MessageReader> messages = MessageReader::Create(interrupt_);
    bool was_interrupted = false;
    while (true) {
      interrupt_.Reset();
      const MessageReader::Input input = messages->Next();
      if (input.event == MessageReader::Event::kEnd) return absl::OkStatus();
      if (input.event == MessageReader::Event::kInterrupt) {
        if (std::exchange(was_interrupted, true)) return absl::OkStatus();
        Note("(Ctrl-C again leaves)");
        continue;
      }
      was_interrupted = false;
      const absl::string_view message = absl::StripAsciiWhitespace(input.text);
      if (message == "/quit" || message == "/exit") return absl::OkStatus();
      RETURN_IF_ERROR(Take(std::string(message)));
    }
  }

 private:
  absl::Status Take(const std::string& message) {
    if (message == "/help") {
      std::cerr << kHelp;
    } else if (IsCommand(message)) {
      Note(absl::StrCat("there is no command ", message, "; /help lists them"));
    } else if (!message.empty()) {
      return Answer(message);
    }
    return absl::OkStatus();
  }

  // Of a message that cannot be answered, and only of that, the conversation keeps nothing.
  absl::Status Answer(const std::string& message) {
    std::vector<ChatMessage> before = conversation_.messages();
    conversation_.AddUser(message);
    const absl::Status status = AnswerLast();
    if (status.ok() || !IsOfTheMessage(status)) return status;
    conversation_.GoBackTo(std::move(before));
    Note(absl::StrCat("(that message is left out: ", status.message(), ")"));
    return absl::OkStatus();
  }

  // Nothing of such a message was computed: it is too long, or no memory is left for it, or the
  // vocabulary cannot spell it.
  static bool IsOfTheMessage(const absl::Status& status) {
    return ExitCodeOf(status) == ExitCode::kCommandLine || absl::IsResourceExhausted(status) ||
           ErrorKind(status) == "tokenizer_tokens";
  }

  absl::Status AnswerLast() {
    ASSIGN_OR_RETURN(const Conversation::Prompt prompt, FittingPrompt());
    if (options_.chat->shows_prompt) std::cerr << prompt.Text() << std::flush;
    ASSIGN_OR_RETURN(const Answerer::Answer answer, answerer_.Run(prompt.ids));
    conversation_.AddAnswer(answer.generation.ids, answer.text.size());
    Note(StopNote(answer.generation, model_.engine().max_context()));
    if (options_.stats) std::cerr << StatsTable(answer.stats);
    return absl::OkStatus();
  }

  // The prompt, with room for an answer of some length, and for that the oldest exchanges
  // forgotten. A UsageError when even the last message alone does not fit.
  absl::StatusOr<Conversation::Prompt> FittingPrompt() {
    constexpr int64_t kRoom = 64;
    const int64_t max_context = model_.engine().max_context();
    bool has_forgotten = false;
    while (true) {
      ASSIGN_OR_RETURN(Conversation::Prompt prompt, conversation_.NextPrompt());
      const int64_t left = max_context - std::ssize(prompt.ids);
      if (left < std::min(kRoom, options_.max_new) && conversation_.ForgetOldest()) {
        has_forgotten = true;
        continue;
      }
      if (left <= 0) {
        return UsageError(absl::StrCat("it is longer than the context of ", max_context,
                                       " tokens (--max_context)"));
      }
      if (has_forgotten) Note("(the context is full: the oldest turns are forgotten)");
      return prompt;
    }
  }

  TextModel& model_;
  const GenerateOptions& options_;
  InterruptHandler interrupt_;
  Answerer answerer_;
  Conversation conversation_;
};

}  // namespace

absl::Status Chat(const GenerateOptions& options) {
  RETURN_IF_ERROR(CheckWrittenFiles(options));
  ASSIGN_OR_RETURN(ChatInputs inputs, ChatInputs::Read(*options.chat));
  ASSIGN_OR_RETURN(const std::unique_ptr<TextModel> model, TextModel::Read(options.model));
  RETURN_IF_ERROR(CheckWrittenFiles(options, model->file()));
  ASSIGN_OR_RETURN(const Tokenizer* tokenizer, model->NeedTokenizer());
  ASSIGN_OR_RETURN(Conversation conversation,
                   Conversation::Create(model->file(), *tokenizer, std::move(inputs)));
  RETURN_IF_ERROR(model->Start(options.open));
  RETURN_IF_ERROR(ChatLoop(*model, options, std::move(conversation)).Run());
  return model->FinishTrace();
}

}  // namespace strata
