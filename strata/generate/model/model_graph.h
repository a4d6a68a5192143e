// A model as an engine runs it: its weights bound to parts, and what joins the parts.
//
//     x = embedding of the token, times embedding_scale
//     for each layer:
//       x = x + what the last few tokens say together, before one layer of models that have it
//       x = residual rule of the mixer, around the mixer
//       x = residual rule of the feed-forward, around the feed-forward
//     logits = cap(output(norm(x)) / logit_scale)
//
// x is one vector of `width` values, or several streams of that width one after the other, which
// start alike; then stream mixers (StreamMixer) stand where norms are.
//
// The order is run_layers.h's. Families differ in which parts a layer has and in the numbers inside
// them, never in code that asks for a family's name. A new kind of mixer (a gated delta net, a short
// convolution) is one more alternative of Mixer, with its own struct here and its own operation in
// LayerOps.
//
// Matrices lie in the mapped file, which must outlive the graph; vectors are copied as f32. A graph
// points into itself where a router was decoded, so it moves and is not copied.
#ifndef STRATA_GENERATE_MODEL_MODEL_GRAPH_H_
#define STRATA_GENERATE_MODEL_MODEL_GRAPH_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "strata/core/block_type.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/generate/model/gated_activation.h"
#include "strata/generate/model/rotary_options.h"
#include "strata/generate/model/routing_options.h"
#include "strata/generate/model/weight_matrix.h"

namespace strata {

// y = scale * (weights x) + bias.
struct Linear {
  std::string name;  // Of the tensor, for messages.
  WeightMatrix weights;
  float scale = 1.0f;       // Of the tensor's `.scale` companion.
  std::vector<float> bias;  // Empty: none.
};

// Where the parts of an expert's blob begin, in the order of its slices (ExpertLayout::Slices):
// three of them, or two where gate and up are one. In the file, or wherever they were copied to.
using BlobParts = std::array<const std::byte*, 3>;

// One role of all routed experts of a layer. An expert's matrix begins `offset` bytes behind the
// beginning of one part of its blob.
struct ExpertLinears {
  std::string name;
  BlockType type = BlockType::kF32;
  int64_t rows = 0;
  int64_t columns = 0;
  int part = 0;
  int64_t offset = 0;
  std::vector<float> scales;  // Empty, or one per expert.
  std::vector<float> biases;  // Empty, or `rows` per expert.

  // The matrix of the expert whose blob has these parts.
  WeightMatrix Weights(const BlobParts& parts) const {
    return {.type = type, .rows = rows, .columns = columns, .data = parts[part] + offset};
  }
  // Of one expert's matrix.
  int64_t bytes() const {
    return rows * WeightMatrix{.type = type, .columns = columns}.row_bytes();
  }
  float scale(int expert) const { return scales.empty() ? 1.0f : scales[expert]; }
  absl::Span<const float> bias(int expert) const {
    if (biases.empty()) return {};
    return absl::MakeConstSpan(biases).subspan(expert * rows, rows);
  }
};

// What a part sees of several streams x_c, and how much of its result each takes
// (hyper-connections):
//
//     v = [norm(x_0) | norm(x_1) | ...], each stream over its own values, times `norm`
//     the part sees m = mean over c of v_c * g_c, where g = sigmoid(up silu(down v))
//     x_c = x_c + w_c * result, where w = 2 sigmoid(inject v)
struct StreamMixer {
  std::vector<float> norm;
  Linear down, up;
  std::optional<Linear> inject;  // None where there is no result: before the output.
};

// How a part's result joins the state: x = (x + scale * norm_after(part(norm_before(x)))) *
// state_scale. Where there are streams their mixer says it all.
struct Residual {
  std::optional<StreamMixer> streams;
  std::vector<float> norm_before;  // Empty: none.
  std::vector<float> norm_after;   // Empty: none.
  float scale = 1.0f;
  float state_scale = 1.0f;
};

// Over each head on its own, over all heads together, or over each head once it has been rotated.
enum class NormScope { kHead, kAllHeads, kRotatedHead };

// Chooses which keys a token attends to, the same for all heads. Positions from 0 on are cut into
// blocks. As long as no more than num_kept of them are complete, all positions are seen; then the
// num_kept best are, and the positions of the incomplete block at the end.
//
//     key of a block = norm(mean of `key` x of its tokens), turned by its first position
//     q_h = norm(head h of `query` x), turned by the token's position
//     score of a block = sum over h of max(0, q_h . key); ties go to the earlier block
struct BlockIndexer {
  // What block sizes divide: blocks lie in pages of keys.
  static constexpr int kMaxBlockSize = 64;

  int num_heads = 0;
  int head_size = 0;
  int block_size = 0;
  int num_kept = 0;
  Linear query, key;
  std::vector<float> query_norm, key_norm;
};

struct SelfAttention {
  static constexpr int kNoRotation = -1;

  int num_heads = 0;
  int num_kv_heads = 0;
  int key_size = 0;    // Of a head.
  int value_size = 0;  // Of a head.
  float scale = 1.0f;
  int64_t window = 0;          // Tokens seen, itself included; 0: all before it.
  int rotation = kNoRotation;  // Of queries and keys: an index of ModelGraph::rotations.
  Linear query, key, value, output;
  // There is no `value`: a value is the product of `key`, neither normed nor rotated.
  bool values_are_keys = false;
  bool norms_values = false;  // Of each head, without weights.
  NormScope norm_scope = NormScope::kHead;
  std::vector<float> query_norm, key_norm;  // Empty: none.
  std::vector<float> sinks;                 // Empty, or one score per head.
  // `query` gives each head's gate behind its query: what the head attended to is multiplied by the
  // gate's sigmoid before `output`.
  bool has_gate = false;
  std::optional<BlockIndexer> indexer;  // None: the window alone says what is seen.
};

// A matrix for each head, in rows of one tensor.
struct HeadLinears {
  std::string name;
  WeightMatrix first;        // Of head 0.
  int64_t rows_to_next = 0;  // From a head's first row to the next head's.
  float scale = 1.0f;        // Of the tensor's `.scale` companion.

  WeightMatrix Weights(int head) const {
    WeightMatrix weights = first;
    weights.data = first.row(head * rows_to_next);
    return weights;
  }
};

// Attention whose keys and values are products of one compressed row per token, which is all that
// is kept of a token, for all heads together:
//
//     [c | r] = compress x                    kept: c = norm(c), r turned by the position
//     q = query norm(query_compress x), or query x; per head [p | r'], r' turned
//     score = scale * (p . key c + r' . r) = scale * ((key^T p) . c + r' . r)
//     out = output [per head: value (sum of weight * c)]
struct LatentAttention {
  int num_heads = 0;
  int plain_size = 0;       // Of a head's p,
  int rotated_size = 0;     // and of its r'.
  int compressed_size = 0;  // Of c.
  int value_size = 0;       // Of a head.
  float scale = 1.0f;
  int rotation = SelfAttention::kNoRotation;
  std::optional<Linear> query_compress;
  std::vector<float> query_norm;
  Linear query;
  Linear compress;
  std::vector<float> compressed_norm;
  // Key matrices as they stand (compressed_size columns), or transposed (plain_size columns).
  HeadLinears key;
  bool key_is_transposed = false;
  HeadLinears value;
  Linear output;

  int query_size() const { return plain_size + rotated_size; }
  int row_size() const { return compressed_size + rotated_size; }
};

// y[t] = sum over taps of weight * x[t - (num_taps - 1 - tap) * dilation], each channel on its own;
// x before the text is 0.
struct CausalConvolution {
  static constexpr int kMaxTaps = 16;

  int num_taps = 0;
  int dilation = 1;
  int64_t num_channels = 0;
  std::vector<float> weights;  // Of each tap, the one of the oldest x first, one per channel.

  // Inputs before the newest that are still looked at.
  int num_before() const { return (num_taps - 1) * dilation; }
};

// A product whose results begin at value `at` of a longer vector.
struct PlacedLinear {
  Linear linear;
  int64_t at = 0;
};

// Linear attention whose memory is a matrix for each value head, corrected by the delta rule after
// every token (docs/design/delta-net.md has the arithmetic).
struct GatedDeltaNet {
  int num_key_heads = 0;
  int num_value_heads = 0;
  int head_size = 0;             // Of keys and values.
  std::vector<int> key_head_of;  // By value head.
  // Together one vector: queries and keys of the key heads, values of the value heads (the channels
  // of the convolution, which a silu follows); output gates of the value heads; what beta_at and
  // alpha_at point into.
  std::vector<PlacedLinear> inputs;
  std::vector<int64_t> beta_at, alpha_at;  // By value head: places in that vector.
  CausalConvolution convolution;
  std::vector<float> decay_rate;   // By value head, negative; times softplus(alpha + time_bias):
  std::vector<float> time_bias;    // the logarithm of what the memory keeps of itself.
  std::vector<float> output_norm;  // Of a head.
  // Of the output gate, times the normed output.
  GatedActivation gate_activation = GatedActivation::kSilu;
  Linear output;

  int64_t num_channels() const { return convolution.num_channels; }
  int64_t key_at() const { return int64_t{num_key_heads} * head_size; }
  int64_t value_at() const { return 2 * key_at(); }
  int64_t output_gate_at() const { return num_channels(); }
  int64_t output_width() const { return int64_t{num_value_heads} * head_size; }
  int64_t input_width() const { return num_channels() + output_width() + 2 * num_value_heads; }
};

// output(c * convolution(b * x)), where `input` gives b, c and x.
struct ShortConvolution {
  Linear input, output;
  CausalConvolution convolution;
};

using Mixer = std::variant<SelfAttention, LatentAttention, GatedDeltaNet, ShortConvolution>;

// down(activation(gate x, up x))
struct FeedForward {
  GatedActivation activation = GatedActivation::kSilu;
  Linear gate, up, down;
};

// Norms of the state for each part of a mixture of experts, where they do not share the residual's,
// and of what comes of routed and shared experts before the two are added.
struct ExpertNorms {
  std::vector<float> router;
  std::vector<float> routed_before, routed_after;
  std::vector<float> shared_before, shared_after;
};

struct MixtureOfExperts {
  Linear router;                     // Its weights are f32.
  std::vector<float> router_as_f32;  // They themselves, where the file has another type.
  RouterOptions routing;
  GatedActivation activation = GatedActivation::kSilu;
  ExpertLinears gate, up, down;
  std::optional<FeedForward> shared;  // Added for every token,
  std::optional<Linear> shared_gate;  // times the sigmoid of this product's only value.
  std::optional<ExpertNorms> norms;   // With them, the residual has no norm before.

  // Bytes of one routed expert's matrices.
  int64_t expert_bytes() const { return gate.bytes() + up.bytes() + down.bytes(); }
};

struct Layer {
  Residual mixer_residual;
  Mixer mixer;
  Residual feed_forward_residual;
  std::variant<FeedForward, MixtureOfExperts> feed_forward;
};

// Predicts the token after the next one, from the trunk's state after the output norm and the
// embedding of the next token: output(norm(layer(join [embedding norm(embedding) | hidden
// norm(state)]))). Bound, and not yet run by any engine.
struct NextTokenBlock {
  std::vector<float> embedding_norm;
  std::vector<float> hidden_norm;
  Linear join;                            // 2 * width columns.
  Layer layer;                            // Its experts are ExpertLayout::nextn_layers().
  std::vector<float> output_norm;         // Empty: the trunk's.
  std::optional<WeightMatrix> embedding;  // Without: the trunk's.
  std::optional<Linear> output;           // The same.
};

// What the last few tokens say together: rows of a table that is far larger than all other weights,
// looked up by hashes of the tokens and joined to one vector E of `width` values.
//
//     k = `key` E, normed by stream, times key_norm; q = the streams, normed, times query_norm
//     u_c = sigmoid(sign(s) sqrt(max(|s|, 1e-6))) * `value` E, where s = k_c . q_c / sqrt(width)
//     x = x + u + silu(convolution of (u normed by stream, times convolution_norm))
struct NgramEmbedding {
  // Far beyond any model.
  static constexpr int kMaxTokens = 16;

  // Rows of the table that one hash chooses from.
  struct Head {
    uint64_t first_row = 0;
    uint64_t num_rows = 1;
  };

  int layer = 0;          // Before whose mixer.
  int num_tokens = 0;     // The longest n-gram's.
  int32_t end_token = 0;  // Tokens before it are not seen; also stands for those before the text.
  std::vector<uint64_t> multipliers;  // Of the token itself, of the one before it, ...
  // The same number for n-grams of 2 tokens, of 3, ...
  std::vector<Head> heads;
  WeightMatrix table;
  Linear key, value;
  std::vector<float> key_norm, query_norm, convolution_norm;
  CausalConvolution convolution;
};

struct Rotation {
  RotaryPairing pairing = RotaryPairing::kNeox;
  RotaryOptions angles;
};

struct ModelGraph {
  ModelGraph() = default;
  ModelGraph(ModelGraph&&) = default;
  ModelGraph& operator=(ModelGraph&&) = default;

  int64_t width = 0;  // Values of x, or of each of its streams.
  int num_streams = 1;
  int64_t vocabulary = 0;      // Logits.
  int64_t context_length = 0;  // That the model was made for.
  float norm_epsilon = 0.0f;
  float embedding_scale = 1.0f;
  float logit_scale = 1.0f;  // Divides the logits.
  float logit_cap = 0.0f;    // Not 0: logits become cap * tanh(logit / cap), the last of all.
  std::vector<Rotation> rotations;
  WeightMatrix embedding;  // A row per token.
  std::vector<Layer> layers;
  std::optional<NgramEmbedding> ngrams;
  std::vector<float> output_norm;
  std::optional<StreamMixer> output_mixer;  // In place of the norm, where there are streams.
  Linear output;
  ExpertLayout experts;  // Where the routed experts lie in the file; empty for a dense model.
  std::vector<NextTokenBlock> next_token_blocks;
  // What a person should know of the file, a sentence each: tensors that nothing uses.
  std::vector<std::string> remarks;

  int64_t state_width() const { return num_streams * width; }
};

// Null for a dense layer.
inline const MixtureOfExperts* ExpertsOf(const Layer& layer) {
  return std::get_if<MixtureOfExperts>(&layer.feed_forward);
}

}  // namespace strata

#endif  // STRATA_GENERATE_MODEL_MODEL_GRAPH_H_
