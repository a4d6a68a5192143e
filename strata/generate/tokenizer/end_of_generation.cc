#include "strata/generate/tokenizer/end_of_generation.h"

#include <optional>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace strata {
namespace {

constexpr absl::string_view kEndTexts[] = {
    "<|eot_id|>",
    "<|eom_id|>",  // Llama 3
    "<|im_end|>",
    "<|endoftext|>",  // ChatML, GPT-2
    "<|end|>",
    "<|return|>",  // Phi, gpt-oss
    "<|call|>",    // gpt-oss
    "<end_of_turn>",
    "<turn|>",                // Gemma
    "</s>",                   // Llama 2, Mistral
    "<|end_of_text|>",        // Granite, Llama 3
    "<｜end▁of▁sentence｜>",  // DeepSeek
    "[EOT]",
    "[EOS]",  // Kimi
    "[e~[",   // MiniMax
    "<EOT>",
    "_<EOT>",              // Code Llama
    "<end_of_utterance>",  // SmolVLM
    "<|fim_pad|>",
    "<fim-pad>",  // Fill in the middle
    "<fim_pad>",
    "<PAD>",  //
    "<|fim_repo|>",
    "<|repo_name|>",  //
    "<fim-repo>",
    "<REPO>",  //
    "<reponame>",
    "<|file_sep|>",  //
};

}  // namespace

std::vector<TokenId> EndOfGenerationTokens(const Vocabulary& vocabulary) {
  std::set<TokenId> ends;
  const Vocabulary::SpecialIds& ids = vocabulary.ids;
  for (const std::optional<TokenId>& id :
       {ids.eos, ids.eot, ids.eom, ids.fim_pad, ids.fim_rep, ids.fim_sep}) {
    if (id) ends.insert(*id);
  }
  absl::flat_hash_map<absl::string_view, TokenId> id_of_text;
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    id_of_text[vocabulary.tokens[id]] = static_cast<TokenId>(id);
  }
  for (const absl::string_view text : kEndTexts) {
    if (const auto id = id_of_text.find(text); id != id_of_text.end()) ends.insert(id->second);
  }
  // In gpt-oss <|end|> ends a message, of which an answer has several.
  const auto end_of_message = id_of_text.find("<|end|>");
  if (id_of_text.contains("<|return|>") && id_of_text.contains("<|call|>") &&
      end_of_message != id_of_text.end()) {
    ends.erase(end_of_message->second);
  }
  return {ends.begin(), ends.end()};
}

}  // namespace strata
