// Opens model files made for one test.
#ifndef STRATA_CORE_GGUF_MODEL_TEST_FILE_H_
#define STRATA_CORE_GGUF_MODEL_TEST_FILE_H_

#include <memory>
#include <string>

#include "gtest/gtest.h"
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

}  // namespace strata

#endif  // STRATA_CORE_GGUF_MODEL_TEST_FILE_H_
