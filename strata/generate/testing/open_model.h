// For tests: a model file opened and bound, without a tokenizer.
#ifndef STRATA_GENERATE_TESTING_OPEN_MODEL_H_
#define STRATA_GENERATE_TESTING_OPEN_MODEL_H_

#include <memory>
#include <string>

#include "strata/core/gguf/gguf_file.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

struct OpenModel {
  // Dies when the model is not sound.
  explicit OpenModel(const std::string& path);

  std::unique_ptr<GgufFile> file;
  ModelGraph graph;
};

}  // namespace strata

#endif  // STRATA_GENERATE_TESTING_OPEN_MODEL_H_
