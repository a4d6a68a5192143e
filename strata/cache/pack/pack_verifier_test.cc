#include "strata/cache/pack/pack_verifier.h"

#include <sys/resource.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/pack/item_checker.h"
#include "strata/cache/pack/pack.h"
#include "strata/cache/pack/pack_items.h"
#include "strata/cache/pack/pack_manifest.h"
#include "strata/cache/pack/testing/small_model.h"
#include "strata/core/cli/runfiles.h"
#include "strata/core/error.h"
#include "strata/core/file_mapping.h"
#include "strata/core/test_seed.h"

namespace strata {
namespace {

using testing::HasSubstr;

// A model and a pack of it, both ours to damage.
class PackVerifierTest : public testing::Test {
 protected:
  PackVerifierTest() : folder_(NewFolder("verifier")), pack_(folder_ + "/pack") {}

  void Build(const SmallModelShape& shape) { BuildOf(WriteSmallModel(folder_, "model", shape)); }
  void BuildOf(const std::string& path) {
    path_ = path;
    const OpenModel model(path);
    ASSERT_TRUE(BuildPack(model, PackOptions(model, pack_)).ok());
    absl::StatusOr<PackManifest> manifest = LoadPackManifest(pack_);
    ASSERT_TRUE(manifest.ok()) << manifest.status();
    manifest_ = *std::move(manifest);
  }

  PackReport Verify(bool quick = false) const {
    PackVerifier verifier(manifest_, {.folder = pack_, .model = path_, .quick = quick});
    absl::StatusOr<PackReport> report = verifier.Verify();
    EXPECT_TRUE(report.ok()) << report.status();
    return *std::move(report);
  }

  // Whether `findings` are this flip, and nothing else, where it is.
  static testing::AssertionResult IsFlip(const std::vector<PackFinding>& findings,
                                         const std::string& file, int64_t offset) {
    if (findings.size() != 1) {
      return testing::AssertionFailure()
             << findings.size() << " findings for byte " << offset << " of " << file;
    }
    const PackFinding& finding = findings[0];
    if (finding.file != file || offset < finding.offset ||
        offset >= finding.offset + finding.bytes) {
      return testing::AssertionFailure()
             << "byte " << offset << " of " << file << " was found as byte " << finding.offset
             << " and " << finding.bytes - 1 << " after it of " << finding.file;
    }
    // There are two copies of experts, so the very byte is known.
    const bool is_of_expert = finding.item.kind == PackItem::Kind::kSlice ||
                              finding.item.kind == PackItem::Kind::kBlobPart;
    if (is_of_expert && finding.offset != offset) {
      return testing::AssertionFailure() << "byte " << offset << " as " << finding.offset;
    }
    return testing::AssertionSuccess();
  }

  const std::string folder_, pack_;
  std::string path_;
  PackManifest manifest_;
};

TEST_F(PackVerifierTest, FindsNothingWhereAllIsRight) {
  for (const char* form : {"merged", "fused", "separate"}) {
    Build({.form = form, .shards = 2});
    const PackReport report = Verify();
    EXPECT_TRUE(report.ok());
    EXPECT_EQ(report.num_checked, report.num_items);
    EXPECT_EQ(report.bytes_checked, report.num_bytes);
  }
}

TEST_F(PackVerifierTest, EveryFlippedByteIsFoundInItsPlace) {
  Build({.layers = 2, .experts = 2, .width = 12});
  const auto model = FileMapping::Open(path_), experts = FileMapping::Open(pack_ + "/experts.bin");
  ASSERT_TRUE(model.ok() && experts.ok());
  const ItemChecker checker(manifest_, {.shards = {model->get()}, .experts = experts->get()});
  std::vector<PackItem> items = ModelItems(manifest_);
  for (const PackItem& item : ExpertsItems(manifest_)) items.push_back(item);
  std::vector<std::byte> buffer(ItemChecker::kBufferBytes);
  for (const FileMapping* file : {model->get(), experts->get()}) {
    for (int64_t offset = 0; offset < file->size(); ++offset) {
      Flip(file->path(), offset);
      std::vector<PackFinding> findings;
      for (const PackItem& item : items) {
        std::optional<PackFinding> finding = checker.Check(item, absl::MakeSpan(buffer));
        if (finding.has_value()) findings.push_back(*std::move(finding));
      }
      Flip(file->path(), offset);
      ASSERT_TRUE(IsFlip(findings, file->path(), offset));
    }
    std::cout << file->size() << " bytes flipped, all found" << std::endl;
  }
}

TEST_F(PackVerifierTest, RandomFlipsInALargerPackAreFound) {
  const std::string path = folder_ + "/tiny.gguf";
  std::filesystem::copy_file(Runfile("testdata/strata-tiny-q4_k_m.gguf").value(), path);
  std::filesystem::permissions(path, std::filesystem::perms::owner_write,
                               std::filesystem::perm_options::add);
  BuildOf(path);
  std::mt19937_64 random(TestSeed());
  for (int64_t left = TestSteps(1000); left > 0; --left) {
    const std::string file = random() % 2 == 0 ? path : pack_ + "/experts.bin";
    const int64_t offset = static_cast<int64_t>(random() % std::filesystem::file_size(file));
    const char bits = static_cast<char>(1 << random() % 8);
    Flip(file, offset, bits);
    const PackReport report = Verify();
    Flip(file, offset, bits);
    ASSERT_TRUE(report.file_problems.empty());
    ASSERT_TRUE(IsFlip(report.findings, file, offset));
  }
}

TEST_F(PackVerifierTest, GoesOnToTheEndAndNamesLayerExpertAndRole) {
  Build({});
  const PackManifest::Run down = manifest_.SliceOf(1, 2, 3);
  const PackManifest::Run gate = manifest_.SliceOf(0, 0, 1);
  Flip(path_, down.offset + 5);
  Flip(path_, gate.offset);
  Flip(pack_ + "/experts.bin", manifest_.layout->offsets[2] + 1600);  // Between gate and up.
  const PackReport report = Verify();
  ASSERT_EQ(report.findings.size(), 3u);
  EXPECT_THAT(Describe(manifest_, report.findings[0].item),
              HasSubstr("padding after layer 0, expert 2, gate in experts.bin"));
  EXPECT_EQ(Describe(manifest_, report.findings[1].item), "layer 0, expert 1, gate in shard 0");
  EXPECT_EQ(report.findings[1].offset, gate.offset);
  EXPECT_EQ(Describe(manifest_, report.findings[2].item), "layer 1, expert 3, down in shard 0");
  EXPECT_EQ(report.findings[2].offset, down.offset + 5);
}

TEST_F(PackVerifierTest, ACutFileIsNamedWithWhatIsMissingOfIt) {
  Build({});
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 1);
  const PackReport report = Verify();
  ASSERT_EQ(report.file_problems.size(), 1u);
  EXPECT_THAT(report.file_problems[0], HasSubstr("the manifest says"));
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_THAT(report.findings[0].problem, HasSubstr("1 bytes short"));
}

TEST_F(PackVerifierTest, AMissingFileIsNamedOnce) {
  Build({.shards = 2});
  std::filesystem::remove(pack_ + "/experts.bin");
  std::filesystem::remove(folder_ + "/model-00002-of-00002.gguf");
  const PackReport report = Verify();
  ASSERT_EQ(report.file_problems.size(), 2u);
  EXPECT_THAT(report.file_problems[0], HasSubstr("00002-of-00002.gguf: cannot open"));
  EXPECT_TRUE(report.findings.empty());
  EXPECT_LT(report.num_checked, report.num_items);
}

TEST_F(PackVerifierTest, AFileThatTheMachineCannotOpenIsNoDifference) {
  Build({});
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  PackVerifier verifier(manifest_, {.folder = pack_, .model = path_});
  const absl::StatusOr<PackReport> report = verifier.Verify();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(ExitCodeOf(report.status()), ExitCode::kMachine) << report.status();
}

TEST_F(PackVerifierTest, AQuickCheckSaysWhatItDoesNotCheck) {
  Build({.experts = 8});
  const PackReport report = Verify(/*quick=*/true);
  EXPECT_TRUE(report.ok());
  EXPECT_LT(report.num_checked, report.num_items);
  EXPECT_GT(report.num_checked, 0);
  Flip(pack_ + "/experts.bin", 100);
  EXPECT_EQ(Verify(/*quick=*/true).findings.size(), 1u);
}

}  // namespace
}  // namespace strata
