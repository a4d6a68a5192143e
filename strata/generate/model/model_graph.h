// A model as the engine runs it: its weights bound to parts, and the order of the parts.
//
//     x = embedding of the token, times embedding_scale
//     for each layer:
//       x = x + residual_scale * mixer(norm(x))
//       x = x + residual_scale * feed_forward(norm(x))
//     logits = output(norm(x)) / logit_scale
//
// Families differ in which parts a layer has and in the numbers inside them, never in code that
// asks for a family's name. A new kind of mixer (latent attention, a gated delta net, a short
// convolution) is one more alternative of Layer::mixer, with its own struct here and its own
// function in the engine.
//
// Matrices lie in the mapped file, which must outlive the graph; vectors are copied as f32.
#ifndef STRATA_GENERATE_MODEL_MODEL_GRAPH_H_
#define STRATA_GENERATE_MODEL_MODEL_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "strata/generate/kernels/gated_activation.h"
#include "strata/generate/kernels/mat_mul.h"
#include "strata/generate/kernels/rotary.h"
#include "strata/generate/kernels/router.h"

namespace strata {

// y = scale * (weights x) + bias.
struct Linear {
  std::string name;  // Of the tensor, for messages.
  WeightMatrix weights;
  float scale = 1.0f;       // Of the tensor's `.scale` companion.
  std::vector<float> bias;  // Empty: none.
};

// One role of all routed experts of a layer.
struct ExpertLinears {
  std::string name;
  BlockType type = BlockType::kF32;
  int64_t rows = 0;
  int64_t columns = 0;
  std::vector<const std::byte*> data;  // Of each expert, in the file.
  std::vector<float> scales;           // Empty, or one per expert.
  std::vector<float> biases;           // Empty, or `rows` per expert.

  // An expert's matrix, which begins at `start`: in the file, or wherever it was copied to.
  WeightMatrix Weights(const std::byte* start) const {
    return {.type = type, .rows = rows, .columns = columns, .data = start};
  }
  float scale(int expert) const { return scales.empty() ? 1.0f : scales[expert]; }
  absl::Span<const float> bias(int expert) const {
    if (biases.empty()) return {};
    return absl::MakeConstSpan(biases).subspan(expert * rows, rows);
  }
};

// Over each head on its own, or over all heads together.
enum class NormScope { kHead, kAllHeads };

struct SelfAttention {
  int num_heads = 0;
  int num_kv_heads = 0;
  int key_size = 0;    // Of a head.
  int value_size = 0;  // Of a head.
  float scale = 1.0f;
  int64_t window = 0;  // Tokens seen, itself included; 0: all before it.
  bool rotates = true;
  Linear query, key, value, output;
  NormScope norm_scope = NormScope::kHead;
  std::vector<float> query_norm, key_norm;  // Empty: none.
  std::vector<float> sinks;                 // Empty, or one score per head.
};

// down(activation(gate x, up x))
struct FeedForward {
  GatedActivation activation = GatedActivation::kSilu;
  Linear gate, up, down;
};

struct MixtureOfExperts {
  Linear router;                     // Its weights are f32.
  std::vector<float> router_as_f32;  // They themselves, where the file has another type.
  RouterOptions routing;
  GatedActivation activation = GatedActivation::kSilu;
  ExpertLinears gate, up, down;
  std::optional<FeedForward> shared;  // Added for every token,
  std::optional<Linear> shared_gate;  // times the sigmoid of this product's only value.
};

struct Layer {
  std::vector<float> mixer_norm;
  std::variant<SelfAttention> mixer;
  std::vector<float> feed_forward_norm;
  std::variant<FeedForward, MixtureOfExperts> feed_forward;
};

struct ModelGraph {
  int64_t width = 0;           // Values of x.
  int64_t vocabulary = 0;      // Logits.
  int64_t context_length = 0;  // That the model was made for.
  float norm_epsilon = 0.0f;
  float embedding_scale = 1.0f;
  float residual_scale = 1.0f;
  float logit_scale = 1.0f;  // Divides the logits.
  RotaryPairing pairing = RotaryPairing::kNeox;
  std::optional<RotaryOptions> rotary;
  WeightMatrix embedding;  // A row per token.
  std::vector<Layer> layers;
  std::vector<float> output_norm;
  Linear output;
};

}  // namespace strata

#endif  // STRATA_GENERATE_MODEL_MODEL_GRAPH_H_
