#include "strata/generate/model/bind_streams.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "strata/core/gguf/model_config.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/tensor_binder.h"

namespace strata {
namespace {

// Far beyond any model; products with a width do not overflow.
constexpr int64_t kMaxStreams = 64;
constexpr int64_t kMaxRank = 1 << 16;

}  // namespace

int NumStreams(const ModelConfig& config, TensorBinder& binder) {
  const int64_t count = config.streams.hyper_connection_count;
  const int64_t rank = config.streams.hyper_connection_low_rank;
  if (count == 0) return 1;
  if (count >= 2 && count <= kMaxStreams && rank >= 1 && rank <= kMaxRank) {
    return static_cast<int>(count);
  }
  binder.Refuse("hparams", absl::StrCat(config.architecture->name, ".hyper_connection.count is ",
                                        count, " and low_rank ", rank));
  return 1;
}

StreamMixer BindStreamMixer(const ModelConfig& config, const std::string& stem, bool has_inject,
                            TensorBinder& binder) {
  const int64_t count = config.streams.hyper_connection_count;
  const int64_t rank = config.streams.hyper_connection_low_rank;
  const int64_t width = count * config.embedding_length;
  // What comes of all streams is divided by their number, the norm's weights are not.
  const float share = 1.0f / static_cast<float>(count);
  StreamMixer mixer;
  mixer.norm = binder.Values(stem + "_norm.weight", {width});
  mixer.down = binder.Matrix(stem + "_down", width, rank);
  mixer.down.scale *= share;
  mixer.up = binder.Matrix(stem + "_up", rank, width);
  if (has_inject) {
    mixer.inject = binder.Matrix(stem + "_inject", width, count);
    mixer.inject->scale *= share;
  }
  return mixer;
}

}  // namespace strata
