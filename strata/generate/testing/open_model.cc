#include "strata/generate/testing/open_model.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "glog/logging.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/generate/model/bind_model.h"
#include "strata/generate/model/model_graph.h"

namespace strata {

OpenModel::OpenModel(const std::string& path) {
  absl::StatusOr<std::unique_ptr<GgufFile>> opened = GgufFile::Open(path);
  CHECK(opened.ok()) << opened.status();
  file = *std::move(opened);
  absl::StatusOr<ModelGraph> bound = BindModel(*file);
  CHECK(bound.ok()) << bound.status();
  graph = *std::move(bound);
}

}  // namespace strata
