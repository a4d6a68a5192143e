#include "strata/cache/pack/pack_builder.h"

#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/pack/pack.h"
#include "strata/cache/pack/pack_folder.h"
#include "strata/cache/pack/pack_layout.h"
#include "strata/cache/pack/pack_manifest.h"
#include "strata/cache/pack/testing/small_model.h"
#include "strata/core/checksum.h"
#include "strata/core/error.h"
#include "strata/core/file_descriptor.h"

namespace strata {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::set<std::string> Entries(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.insert(entry.path().filename());
  }
  return names;
}

Checksum HashOf(absl::string_view text) {
  return ChecksumOf({reinterpret_cast<const std::byte*>(text.data()), text.size()});
}

class PackBuilderTest : public testing::Test {
 protected:
  PackBuilderTest() : folder_(NewFolder("builder")), pack_(folder_ + "/pack") {}

  std::string Model(const SmallModelShape& shape, const std::string& name = "model") const {
    return WriteSmallModel(folder_, name, shape);
  }

  const std::string folder_;
  const std::string pack_;
};

// Before anything is read or written.
TEST_F(PackBuilderTest, WhatIsNoRegularFileIsInTheWay) {
  const OpenModel model(Model({}));
  const std::string precious = folder_ + "/precious";
  WriteFile(precious, "bytes");
  for (const char* name : {"manifest.json", "experts.bin", "pack.partial", "experts.bin.partial"}) {
    const std::string path = pack_ + "/" + name;
    std::filesystem::create_directories(path);
    EXPECT_THAT(BuildPack(model, PackOptions(model, pack_)).message(), HasSubstr("in the way"));
    EXPECT_THAT(Entries(pack_), ElementsAre(name));
    std::filesystem::remove(path);
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    EXPECT_THAT(BuildPack(model, PackOptions(model, pack_)).message(), HasSubstr("in the way"));
    std::filesystem::remove(path);
    std::filesystem::create_symlink(precious, path);
    const absl::Status status = BuildPack(model, PackOptions(model, pack_));
    const bool is_begun = absl::EndsWith(name, ".partial");
    EXPECT_EQ(ErrorKind(status), is_begun ? "io" : "") << name << ": " << status;
    if (name != std::string("manifest.json")) {
      EXPECT_EQ(ReadFile(precious), "bytes") << name;
    }
    std::filesystem::remove_all(pack_);
  }
}

TEST_F(PackBuilderTest, AManifestHoldsTheHashOfEveryTensorSliceAndBlob) {
  for (const char* form : {"merged", "fused", "separate"}) {
    const std::string path = Model({.form = form}, form);
    const OpenModel model(path);
    ASSERT_TRUE(BuildPack(model, PackOptions(model, pack_)).ok());
    const absl::StatusOr<PackManifest> manifest = LoadPackManifest(pack_);
    ASSERT_TRUE(manifest.ok()) << manifest.status();
    const std::string bytes = ReadFile(path);
    for (const PackManifest::Tensor& tensor : manifest->tensors) {
      EXPECT_EQ(tensor.run.hash, HashOf(bytes.substr(tensor.run.offset, tensor.run.bytes)));
    }
    for (int expert = 0; expert < 4; ++expert) {
      std::string blob;
      for (const ExpertSlice& slice : model.layout.Slices({1, expert})) {
        blob += bytes.substr(slice.file_offset, slice.bytes);
      }
      EXPECT_EQ(manifest->layers[1].blobs[expert], HashOf(blob));
      const ExpertSlice first = model.layout.Slices({1, expert})[0];
      EXPECT_EQ(manifest->SliceOf(1, 0, expert).offset, first.file_offset);
      EXPECT_EQ(manifest->SliceOf(1, 0, expert).hash,
                HashOf(bytes.substr(first.file_offset, first.bytes)));
    }
  }
}

TEST_F(PackBuilderTest, ExpertsLieInTheOrderThatIsAskedForWithZerosBetween) {
  const std::string path = Model({.layers = 1, .experts = 3});
  const OpenModel model(path);
  ASSERT_TRUE(BuildPack(model, PackOptions(model, pack_, {2, 0, 1})).ok());
  const std::string experts = ReadFile(pack_ + "/experts.bin"), bytes = ReadFile(path);
  // Parts of 1600 bytes begin at multiples of 256, blobs at those of 4096.
  ASSERT_EQ(experts.size(), 4096u + 3 * 8192);
  EXPECT_THAT(LoadPackManifest(pack_)->layout->offsets, ElementsAre(12288, 20480, 4096));
  std::string expected(experts.size(), '\0');
  expected.replace(0, 4096, experts.substr(0, 4096));
  const int64_t offsets[] = {12288, 20480, 4096};
  for (int expert = 0; expert < 3; ++expert) {
    int64_t part = 0;
    for (const ExpertSlice& slice : model.layout.Slices({0, expert})) {
      expected.replace(offsets[expert] + 1792 * part++, 1600, bytes, slice.file_offset, 1600);
    }
  }
  EXPECT_EQ(experts, expected);
}

TEST_F(PackBuilderTest, WithoutALayoutThereIsNoFileOfExperts) {
  const OpenModel model(Model({}));
  PackBuilder::Options options = PackOptions(model, pack_);
  ASSERT_TRUE(BuildPack(model, options).ok());
  EXPECT_THAT(Entries(pack_), ElementsAre("experts.bin", "manifest.json"));
  options.writes_experts = false;
  ASSERT_TRUE(BuildPack(model, options).ok());
  EXPECT_THAT(Entries(pack_), ElementsAre("manifest.json"));
  EXPECT_EQ(ErrorKind(Pack::Open(pack_).status()), "pack_no_experts");
}

// Ends after so many bytes were read, as a kill would: by an error of the files.
absl::Status BuildUntilTheFileIsGone(const OpenModel& model, PackBuilder::Options options,
                                     int64_t bytes) {
  int64_t read = 0;
  const std::string path = model.file->path();
  options.num_threads = 1;
  options.checkpoint_period = std::chrono::seconds(0);
  bool touched = false;
  options.progress = [&](int64_t more) {
    read += more;
    if (read < bytes || touched) return;
    touched = true;
    WriteFile(path, ReadFile(path));
  };
  return BuildPack(model, options);
}

TEST_F(PackBuilderTest, AModelThatIsWrittenMeanwhileIsRefusedAndThePackIsIncomplete) {
  const std::string path = Model({.layers = 4});
  {
    const OpenModel model(path);
    const absl::Status built = BuildUntilTheFileIsGone(model, PackOptions(model, pack_), 20000);
    EXPECT_EQ(ErrorKind(built), "changed") << built;
  }
  const absl::Status opened = Pack::Open(pack_).status();
  EXPECT_EQ(ErrorKind(opened), "pack_incomplete");
  EXPECT_THAT(opened.message(), HasSubstr("resume with: the same test"));
  // What was read from the file before counts no more.
  const OpenModel model(path);
  const auto builder =
      PackBuilder::Create(*model.file, model.layout, model.identity, PackOptions(model, pack_));
  ASSERT_TRUE(builder.ok()) << builder.status();
  EXPECT_EQ((*builder)->num_bytes_done(), 0);
  EXPECT_TRUE((*builder)->Build().ok());
  EXPECT_THAT(Entries(pack_), ElementsAre("experts.bin", "manifest.json"));
}

// In a process of its own, which is killed after it has read so many bytes. Whether it was.
bool BuildAndKill(const std::string& path, const std::string& pack, int64_t bytes) {
  const pid_t child = fork();
  if (child == 0) {
    const OpenModel model(path);
    PackBuilder::Options options = PackOptions(model, pack);
    options.checkpoint_period = std::chrono::seconds(0);
    int64_t read = 0;
    options.progress = [&](int64_t more) {
      read += more;
      if (read >= bytes) raise(SIGKILL);
    };
    _exit(BuildPack(model, options).ok() ? 0 : 1);
  }
  int status = 0;
  PCHECK(waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status);
}

TEST_F(PackBuilderTest, AKilledBuildGoesOnWhereItWasAndEndsWithTheSameBytes) {
  const std::string path = Model({.layers = 6});
  const OpenModel model(path);
  ASSERT_TRUE(BuildPack(model, PackOptions(model, folder_ + "/whole")).ok());
  int64_t done = 0;
  for (int kills = 0; kills < 3; ++kills) {
    ASSERT_TRUE(BuildAndKill(path, pack_, 30000)) << "it ended before it was killed";
    EXPECT_EQ(ErrorKind(Pack::Open(pack_).status()), "pack_incomplete");
    const auto builder =
        PackBuilder::Create(*model.file, model.layout, model.identity, PackOptions(model, pack_));
    ASSERT_TRUE(builder.ok()) << builder.status();
    EXPECT_GT((*builder)->num_bytes_done(), done);
    done = (*builder)->num_bytes_done();
  }
  ASSERT_TRUE(BuildPack(model, PackOptions(model, pack_)).ok());
  for (const char* file : {"/manifest.json", "/experts.bin"}) {
    EXPECT_EQ(ReadFile(pack_ + file), ReadFile(folder_ + "/whole" + file)) << file;
  }
  EXPECT_THAT(Entries(pack_), ElementsAre("experts.bin", "manifest.json"));
}

TEST_F(PackBuilderTest, ABuildWithAnotherOrderDoesNotGoOnWithOne) {
  const std::string path = Model({.layers = 2, .experts = 2});
  ASSERT_TRUE(BuildAndKill(path, pack_, 12000));
  const OpenModel model(path);
  const auto builder = PackBuilder::Create(*model.file, model.layout, model.identity,
                                           PackOptions(model, pack_, {3, 2, 1, 0}));
  ASSERT_TRUE(builder.ok()) << builder.status();
  EXPECT_EQ((*builder)->num_bytes_done(), 0);
}

TEST_F(PackBuilderTest, LeavesNoTemporariesOfKilledBuilds) {
  const OpenModel model(Model({}));
  std::filesystem::create_directory(pack_);
  WriteFile(pack_ + "/manifest.json.0123456789abcdef.tmp", "x");
  WriteFile(pack_ + "/pack.partial.0123456789abcdef.tmp", "x");
  WriteFile(pack_ + "/manifest.json.notes.tmp", "mine");
  WriteFile(pack_ + "/experts.bin.partial", "x");
  WriteFile(pack_ + "/pack.partial", "x");
  ASSERT_TRUE(BuildPack(model, PackOptions(model, pack_)).ok());
  EXPECT_THAT(Entries(pack_),
              ElementsAre("experts.bin", "manifest.json", "manifest.json.notes.tmp"));
}

TEST_F(PackBuilderTest, OneBuildAtATimeWritesAFolder) {
  const OpenModel model(Model({}));
  const absl::StatusOr<FileDescriptor> lock = PackFolder(pack_).Lock();
  ASSERT_TRUE(lock.ok());
  EXPECT_TRUE(absl::IsUnavailable(BuildPack(model, PackOptions(model, pack_))));
}

}  // namespace
}  // namespace strata
