// A trained model against a float32 computation by Hugging Face transformers of the same values:
// models/strata-tiny-reference.npz among the large test files.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "gtest/gtest.h"
#include "strata/core/cli/run_program.h"
#include "strata/generate/cpu/cpu_engine.h"
#include "strata/generate/engine/engine.h"
#include "strata/generate/engine/generator.h"
#include "strata/generate/engine/sequence.h"
#include "strata/generate/engine/step.h"
#include "strata/generate/testing/open_model.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {
namespace {

namespace fs = std::filesystem;

constexpr float kTolerance = 2e-3f;

// Arrays of an .npz file: a zip archive of .npy files, which Python unpacks.
class NumpyArchive {
 public:
  explicit NumpyArchive(const fs::path& path) : folder_(::testing::TempDir() + "/npz") {
    const ProgramResult result =
        RunProgram({"/usr/bin/python3", "-m", "zipfile", "-e", path.string(), folder_.string()});
    CHECK_EQ(result.exit_code, 0) << result.err;
  }

  // The values of an array, whose element type the caller knows.
  template <typename T>
  std::vector<T> Read(const std::string& name) const {
    std::ifstream file(folder_ / (name + ".npy"), std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    // "\x93NUMPY", version, and the length of a text that describes the values behind it.
    CHECK_GT(bytes.size(), 10u) << name;
    uint16_t description_bytes;
    std::memcpy(&description_bytes, &bytes[8], sizeof(description_bytes));
    const absl::string_view data = absl::string_view(bytes).substr(10 + description_bytes);
    std::vector<T> values(data.size() / sizeof(T));
    std::memcpy(values.data(), data.data(), data.size());
    return values;
  }

 private:
  const fs::path folder_;
};

// Numpy stores ids as i32 or i64.
std::vector<TokenId> ReadIds(const NumpyArchive& archive, const std::string& name, size_t count) {
  const auto narrow = archive.Read<int32_t>(name);
  if (narrow.size() == count) return narrow;
  const auto wide = archive.Read<int64_t>(name);
  CHECK_EQ(wide.size(), count) << name;
  return {wide.begin(), wide.end()};
}

class StrataTinyReferenceTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const char* const folder = std::getenv("STRATA_TEST_DATA");
    const fs::path models = fs::path(folder == nullptr ? "" : folder) / "models";
    if (!fs::exists(models / "strata-tiny-reference.npz")) {
      GTEST_SKIP() << "STRATA_TEST_DATA names no folder with models/strata-tiny-reference.npz";
    }
    archive_ = std::make_unique<NumpyArchive>(models / "strata-tiny-reference.npz");
    model_ = std::make_unique<OpenModel>((models / "strata-tiny-f16.gguf").string());
    engine_ =
        std::make_unique<CpuEngine>(*model_->file, model_->graph, EngineOptions{.num_threads = 2});
  }

  std::unique_ptr<NumpyArchive> archive_;
  std::unique_ptr<OpenModel> model_;
  std::unique_ptr<CpuEngine> engine_;
};

TEST_P(StrataTinyReferenceTest, ComputesTheStoredLogits) {
  const std::vector<TokenId> ids = ReadIds(*archive_, GetParam() + ".ids", 96);
  const auto expected = archive_->Read<float>(GetParam() + ".logits");
  const int64_t vocabulary = engine_->vocabulary();
  // Rows after every token, or after the first and every eighth that follows.
  const int64_t num_rows = static_cast<int64_t>(expected.size()) / vocabulary;
  const int64_t distance = 96 / num_rows;
  float largest = 0.0f;
  Sequence sequence(*engine_);
  for (int64_t i = 0; i < num_rows; ++i) {
    const int64_t end = i * distance + 1;
    const auto step =
        absl::MakeConstSpan(ids).subspan(sequence.position(), end - sequence.position());
    const absl::StatusOr<const StepResult*> result =
        sequence.Feed(step, {.logits = Sequence::Want::kLast});
    ASSERT_TRUE(result.ok()) << result.status();
    const absl::Span<const float> got = (*result)->logits.front();
    const auto row = absl::MakeConstSpan(expected).subspan(i * vocabulary, vocabulary);
    for (int64_t j = 0; j < vocabulary; ++j) {
      largest = std::max(largest, std::abs(got[j] - row[j]));
    }
    EXPECT_EQ(std::max_element(got.begin(), got.end()) - got.begin(),
              std::max_element(row.begin(), row.end()) - row.begin())
        << "position " << end - 1;
  }
  EXPECT_LE(largest, kTolerance);
  std::cout << GetParam() << ": largest difference " << largest << std::endl;
}

TEST_P(StrataTinyReferenceTest, ContinuesGreedilyAsStored) {
  const std::vector<TokenId> expected = ReadIds(*archive_, GetParam() + ".greedy", 80);
  Generator generator(*engine_, {.max_new = 48});
  const absl::StatusOr<Generation> generation =
      generator.Run(absl::MakeConstSpan(expected).subspan(0, 32), {});
  ASSERT_TRUE(generation.ok()) << generation.status();
  EXPECT_EQ(generation->ids, std::vector<TokenId>(expected.begin() + 32, expected.end()));
}

INSTANTIATE_TEST_SUITE_P(Texts, StrataTinyReferenceTest,
                         ::testing::Values("c_code", "dictionary", "french", "german",
                                           "handbook_en", "italian", "kerneldoc", "man_en", "pydoc",
                                           "scripture", "spanish"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace strata
