#include "strata/core/gguf/architecture.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace strata {
namespace {

constexpr auto kNone = RopeKind::kNone;
constexpr auto kHalves = RopeKind::kHalves;
constexpr auto kSections = RopeKind::kHalvesWithSections;
constexpr auto kSigmoid = ExpertGating::kSigmoid;

// Unsaid: rope of neighbours, softmax, normalized weights, silu.
constexpr Architecture kArchitectures[] = {
    {.name = "afmoe", .title = "Arcee AFMoE", .rope = kHalves, .gating = kSigmoid},
    {.name = "arctic", .title = "Snowflake Arctic"},
    {.name = "bailingmoe", .title = "Ling", .normalizes_weights = false},
    {.name = "bailingmoe2",
     .title = "Ling 2",
     .rope = kHalves,
     .gating = kSigmoid,
     .normalizes_weights = false},
    {.name = "bailingmoe3", .title = "Ling 3", .gating = kSigmoid},
    {.name = "cohere2moe", .title = "Command MoE", .gating = kSigmoid},
    {.name = "dbrx", .title = "DBRX", .rope = kHalves},
    {.name = "deepseek", .title = "DeepSeek MoE", .normalizes_weights = false},
    // GLM 4.7 Flash among them.
    {.name = "deepseek2",
     .title = "DeepSeek V2, V3",
     .sigmoid_vocabulary = 154880,
     .normalizes_weights = false},
    {.name = "deepseek2-ocr", .title = "DeepSeek OCR", .normalizes_weights = false},
    {.name = "deepseek32", .title = "DeepSeek V3.2", .normalizes_weights = false},
    {.name = "deepseek4",
     .title = "DeepSeek V4",
     .gating = ExpertGating::kSqrtSoftplus,
     .normalizes_weights = false},
    {.name = "dots1",
     .title = "dots.llm1",
     .rope = kHalves,
     .gating = kSigmoid,
     .normalizes_weights = false},
    {.name = "ernie4_5", .title = "ERNIE 4.5"},
    {.name = "ernie4_5-moe", .title = "ERNIE 4.5 MoE"},
    {.name = "exaone-moe",
     .title = "EXAONE MoE",
     .rope = kHalves,
     .gating = kSigmoid,
     .normalizes_weights = false},
    {.name = "gemma4", .title = "Gemma 4", .rope = kHalves, .activation = ExpertActivation::kGelu},
    {.name = "glm-dsa", .title = "GLM 5", .gating = kSigmoid, .normalizes_weights = false},
    {.name = "glm4moe",
     .title = "GLM 4.5",
     .rope = kHalves,
     .gating = kSigmoid,
     .normalizes_weights = false},
    {.name = "gpt-oss",
     .title = "gpt-oss",
     .rope = kHalves,
     .gating = ExpertGating::kSoftmaxOfChosen,
     .normalizes_weights = false,
     .activation = ExpertActivation::kClampedSwiglu},
    {.name = "granitehybrid", .title = "Granite Hybrid"},
    {.name = "granitemoe", .title = "Granite MoE"},
    {.name = "grok", .title = "Grok", .rope = kHalves, .activation = ExpertActivation::kGelu},
    {.name = "grovemoe", .title = "GroveMoE", .rope = kHalves},
    {.name = "hunyuan-moe", .title = "Hunyuan MoE", .rope = kHalves},
    {.name = "hy_v3",
     .title = "Hunyuan 3",
     .rope = kHalves,
     .gating = kSigmoid,
     .normalizes_weights = false},
    {.name = "jamba", .title = "Jamba", .rope = kNone, .normalizes_weights = false},
    {.name = "kimi-k3",
     .title = "Kimi K3",
     .rope = kNone,
     .gating = kSigmoid,
     .activation = ExpertActivation::kSitu},
    {.name = "kimi-linear", .title = "Kimi Linear", .rope = kNone, .gating = kSigmoid},
    {.name = "laguna", .title = "Laguna", .rope = kHalves, .gating = kSigmoid},
    {.name = "lfm2moe", .title = "LFM2 MoE", .rope = kHalves, .gating = kSigmoid},
    {.name = "llada-moe", .title = "LLaDA MoE", .rope = kHalves, .normalizes_weights = false},
    {.name = "llama", .title = "Llama, Mistral, Mixtral"},
    {.name = "llama4",
     .title = "Llama 4",
     .gating = kSigmoid,
     .normalizes_weights = false,
     .weighs_input = true},
    {.name = "mellum", .title = "Mellum", .rope = kHalves},
    {.name = "mimo2", .title = "MiMo V2", .rope = kHalves, .gating = kSigmoid},
    {.name = "minimax-01", .title = "MiniMax 01", .rope = kHalves},
    {.name = "minimax-m2", .title = "MiniMax M2", .rope = kHalves, .gating = kSigmoid},
    {.name = "minimax-m3",
     .title = "MiniMax M3",
     .rope = kHalves,
     .gating = kSigmoid,
     .activation = ExpertActivation::kClampedSwiglu},
    {.name = "mistral3", .title = "Mistral 3"},
    {.name = "mistral4", .title = "Mistral 4"},
    {.name = "nemotron_h_moe",
     .title = "Nemotron H MoE",
     .rope = kNone,
     .gating = kSigmoid,
     .activation = ExpertActivation::kSquaredRelu,
     .experts_lack_gate = true,
     .blocks_may_lack_ffn = true},
    {.name = "nomic-bert-moe",
     .title = "Nomic Embed MoE",
     .rope = kHalves,
     .normalizes_weights = false,
     .activation = ExpertActivation::kGelu,
     .experts_lack_gate = true},
    {.name = "olmoe", .title = "OLMoE", .rope = kHalves, .normalizes_weights = false},
    {.name = "phimoe", .title = "Phi MoE", .rope = kHalves},
    {.name = "qwen", .title = "Qwen", .rope = kHalves},
    {.name = "qwen2", .title = "Qwen 2", .rope = kHalves},
    {.name = "qwen2moe", .title = "Qwen 2 MoE", .rope = kHalves, .normalizes_weights = false},
    {.name = "qwen2vl", .title = "Qwen 2 VL", .rope = kHalves},
    {.name = "qwen3", .title = "Qwen 3", .rope = kHalves},
    {.name = "qwen35", .title = "Qwen 3.5", .rope = kSections},
    {.name = "qwen35moe", .title = "Qwen 3.5 MoE", .rope = kSections},
    {.name = "qwen3moe", .title = "Qwen 3 MoE", .rope = kHalves},
    {.name = "qwen3next", .title = "Qwen 3 Next", .rope = kHalves},
    {.name = "qwen3vl", .title = "Qwen 3 VL", .rope = kSections},
    {.name = "qwen3vlmoe", .title = "Qwen 3 VL MoE", .rope = kSections},
    {.name = "qwen4exp", .title = "Qwen 3.8 Flash Next", .rope = kSections},
    {.name = "rnd1", .title = "RND1", .rope = kHalves},
    {.name = "smallthinker",
     .title = "SmallThinker",
     .rope = kHalves,
     .activation = ExpertActivation::kRelu},
    {.name = "step35", .title = "Step 3.5", .rope = kHalves, .gating = kSigmoid},
};

constexpr bool IsAscending() {
  for (size_t i = 1; i < std::size(kArchitectures); ++i) {
    if (!(kArchitectures[i - 1].name < kArchitectures[i].name)) return false;
  }
  return true;
}
static_assert(IsAscending());

}  // namespace

absl::Span<const Architecture> AllArchitectures() { return kArchitectures; }

const Architecture* FindArchitecture(absl::string_view name) {
  const auto* found = std::lower_bound(
      std::begin(kArchitectures), std::end(kArchitectures), name,
      [](const Architecture& entry, absl::string_view name) { return entry.name < name; });
  return found != std::end(kArchitectures) && found->name == name ? found : nullptr;
}

}  // namespace strata
