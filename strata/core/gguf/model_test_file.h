// Model files made for one test.
#ifndef STRATA_CORE_GGUF_MODEL_TEST_FILE_H_
#define STRATA_CORE_GGUF_MODEL_TEST_FILE_H_

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "strata/core/block_type.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_writer.h"

namespace strata {

// The file that `writer` makes, which must be a sound GGUF file.
inline std::unique_ptr<GgufFile> OpenWritten(const GgufWriter& writer) {
  const std::string path = testing::TempDir() + "/model.gguf";
  writer.WriteTo(path);
  auto file = GgufFile::Open(path);
  EXPECT_TRUE(file.ok()) << file.status();
  return *std::move(file);
}

// A model without experts, as far as its description goes.
inline GgufWriter DenseModel() {
  GgufWriter writer;
  writer.Key("general.architecture", "llama")
      .Key("llama.block_count", 1u)
      .Key("llama.context_length", 64u)
      .Key("llama.embedding_length", 32u)
      .Key("llama.feed_forward_length", 32u)
      .Key("llama.attention.head_count", 1u)
      .Key("llama.attention.layer_norm_rms_epsilon", 1e-6f)
      .Tensor("blk.0.ffn_up.weight", BlockType::kF32, {32, 32});
  return writer;
}

}  // namespace strata

#endif  // STRATA_CORE_GGUF_MODEL_TEST_FILE_H_
