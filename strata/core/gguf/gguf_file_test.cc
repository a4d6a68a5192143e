#include "strata/core/gguf/gguf_file.h"

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/block_type.h"
#include "strata/core/error.h"
#include "strata/core/gguf/gguf_value.h"
#include "strata/core/gguf/gguf_writer.h"

namespace strata {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class GgufFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  std::string Path(const std::string& name) const { return folder_ / name; }

  std::string Write(const std::string& name, const GgufWriter& writer) const {
    writer.WriteTo(Path(name));
    return Path(name);
  }

  // Shards with one tensor each, "t1" in the first.
  void WriteShards(int count) const {
    for (int number = 1; number <= count; ++number) {
      Write(absl::StrFormat("m-%05d-of-%05d.gguf", number, count), Shard(number, count, count));
    }
  }

  static GgufWriter Shard(int number, int count, int num_tensors) {
    GgufWriter writer;
    writer.Key("split.no", static_cast<uint32_t>(number - 1));
    writer.Key("split.count", static_cast<uint32_t>(count));
    writer.Key("split.tensors.count", static_cast<uint32_t>(num_tensors));
    return writer.Tensor(absl::StrFormat("t%d", number), BlockType::kF32, {8});
  }

  static std::string Kind(const std::string& path) {
    return ErrorKind(GgufFile::Open(path).status());
  }

  fs::path folder_;
};

TEST_F(GgufFileTest, OpensASingleFile) {
  const std::string path =
      Write("a.gguf", GgufWriter().Key("k", uint32_t{5}).Tensor("t", BlockType::kI8, {3}));
  const auto file = GgufFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_FALSE((*file)->is_split());
  EXPECT_EQ((*file)->FindKey("k")->AsInt(), 5);
  const GgufTensor* const tensor = (*file)->FindTensor("t");
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ((*file)->Data(*tensor).size(), 3u);
  EXPECT_EQ((*file)->Data(*tensor)[1], std::byte{31 + 7});  // The writer's pattern.
  EXPECT_EQ((*file)->FindTensor("u"), nullptr);
  EXPECT_EQ((*file)->shards()[0]->trailing_bytes(), 0);
}

TEST_F(GgufFileTest, CountsTheBytesBehindTheLastTensor) {
  const std::string path = Write("a.gguf", GgufWriter().Tensor("t", BlockType::kI8, {3}));
  std::ofstream(path, std::ios::app) << "tail";
  const auto file = GgufFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->shards()[0]->trailing_bytes(), 4);
}

TEST_F(GgufFileTest, NamesTheFileThatIsWrong) {
  std::ofstream(Path("page.gguf")) << "<html>";
  const auto file = GgufFile::Open(Path("page.gguf"));
  EXPECT_EQ(ErrorKind(file.status()), "bad_magic");
  EXPECT_EQ(ErrorFile(file.status()), Path("page.gguf"));
  EXPECT_THAT(file.status().message(), HasSubstr("'<htm'"));
}

TEST_F(GgufFileTest, WhatIsNoRegularFileIsAnIoError) {
  EXPECT_EQ(Kind(folder_), "io");
  EXPECT_EQ(Kind(Path("missing.gguf")), "io");
  ASSERT_EQ(mkfifo(Path("fifo.gguf").c_str(), 0600), 0);
  EXPECT_EQ(Kind(Path("fifo.gguf")), "io");
}

TEST_F(GgufFileTest, AnyShardOpensAll) {
  WriteShards(3);
  for (const char* name :
       {"m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "m-00003-of-00003.gguf"}) {
    const auto file = GgufFile::Open(Path(name));
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_TRUE((*file)->is_split());
    ASSERT_EQ((*file)->shards().size(), 3u);
    EXPECT_EQ((*file)->shards()[0]->path(), Path("m-00001-of-00003.gguf"));
    EXPECT_EQ((*file)->FindTensor("t3")->shard, 2);
    EXPECT_EQ((*file)->shards()[1]->tensors()[0].name, "t2");
  }
}

TEST_F(GgufFileTest, ShardsAreFoundBesideTheNameGivenAndNotBesideALinksTarget) {
  // As download caches keep them: links by name to blobs by hash.
  WriteShards(2);
  fs::create_directories(folder_ / "blobs");
  fs::create_directories(folder_ / "snapshot");
  for (const char* name : {"m-00001-of-00002.gguf", "m-00002-of-00002.gguf"}) {
    const std::string blob = std::string("hash_of_") + name[6];
    fs::rename(folder_ / name, folder_ / "blobs" / blob);
    fs::create_symlink("../blobs/" + blob, folder_ / "snapshot" / name);
  }
  const auto file = GgufFile::Open(folder_ / "snapshot" / "m-00002-of-00002.gguf");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->tensors().size(), 2u);
}

TEST_F(GgufFileTest, AMissingShardIsNamed) {
  WriteShards(3);
  fs::remove(Path("m-00002-of-00003.gguf"));
  const auto file = GgufFile::Open(Path("m-00001-of-00003.gguf"));
  EXPECT_EQ(ErrorKind(file.status()), "split_missing");
  EXPECT_EQ(ErrorFile(file.status()), Path("m-00002-of-00003.gguf"));
}

TEST_F(GgufFileTest, ALaterShardAloneSaysThatTheFirstIsMissing) {
  WriteShards(3);
  fs::remove(Path("m-00001-of-00003.gguf"));
  EXPECT_EQ(Kind(Path("m-00003-of-00003.gguf")), "split_not_first");
}

TEST_F(GgufFileTest, ARenamedShardIsRefusedForItsName) {
  WriteShards(2);
  fs::rename(Path("m-00001-of-00002.gguf"), Path("model.gguf"));
  EXPECT_EQ(Kind(Path("model.gguf")), "split_name");
}

TEST_F(GgufFileTest, TheOnlyShardMayHaveAnyName) {
  const auto file = GgufFile::Open(Write("model.gguf", Shard(1, 1, 1)));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE((*file)->is_split());
}

TEST_F(GgufFileTest, AMergedSplitIsASingleFile) {
  // What joins shards again leaves split.count at 0.
  GgufWriter writer;
  writer.Key("split.no", uint32_t{0}).Key("split.count", uint32_t{0});
  const auto file = GgufFile::Open(Write("model.gguf", writer));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_FALSE((*file)->is_split());
  EXPECT_EQ(Kind(Write("m-00001-of-00002.gguf", writer)), "split_count");
}

TEST_F(GgufFileTest, SplitKeysWithoutACountAreIncomplete) {
  EXPECT_EQ(Kind(Write("model.gguf", GgufWriter().Key("split.no", uint32_t{0}))),
            "split_key_missing");
}

TEST_F(GgufFileTest, AWholeModelUnderAShardsNameIsNotTakenForOne) {
  const GgufWriter whole = GgufWriter().Key("general.name", "whole");
  EXPECT_EQ(Kind(Write("m-00001-of-00002.gguf", whole)), "split_key_missing");
  EXPECT_EQ(Kind(Write("m-00001-of-00001.gguf", whole)), "");
}

TEST_F(GgufFileTest, AShardNumberPastTheCountIsRefused) {
  EXPECT_EQ(Kind(Write("m-00003-of-00002.gguf", Shard(3, 2, 2))), "split_name");
}

TEST_F(GgufFileTest, ATensorInTwoShardsIsRefused) {
  WriteShards(2);
  GgufWriter second;
  second.Key("split.no", uint32_t{1}).Key("split.count", uint32_t{2});
  second.Key("split.tensors.count", uint32_t{2}).Tensor("t1", BlockType::kF32, {8});
  Write("m-00002-of-00002.gguf", second);
  EXPECT_EQ(Kind(Path("m-00001-of-00002.gguf")), "duplicate_tensor");
}

TEST_F(GgufFileTest, NegativeAndHugeSplitKeysMatchNothing) {
  const auto kind = [&](const GgufBytes& no, GgufType type) {
    GgufWriter writer;
    writer.Key("split.no", type, no).Key("split.count", uint32_t{1});
    writer.Key("split.tensors.count", uint32_t{0});
    return Kind(Write("m-00001-of-00001.gguf", writer));
  };
  EXPECT_EQ(kind(GgufBytes().Number(int32_t{-1}), GgufType::kI32), "split_order");
  EXPECT_EQ(kind(GgufBytes().Number(~uint64_t{0}), GgufType::kU64), "split_order");
  EXPECT_EQ(kind(GgufBytes().Number(int64_t{0}), GgufType::kI64), "");
}

TEST_F(GgufFileTest, AFileCutAfterOpeningIsAnErrorAndNoSignal) {
  const std::string path = Write("a.gguf", GgufWriter().Tensor("t", BlockType::kF32, {1 << 20}));
  const auto file = GgufFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE((*file)->CheckUnchanged().ok());
  fs::resize_file(path, 4096);
  int sum = 0;
  for (const std::byte b : (*file)->Data((*file)->tensors()[0])) sum += std::to_integer<int>(b);
  EXPECT_GT(sum, 0);
  EXPECT_EQ(ErrorKind((*file)->CheckUnchanged()), "changed");
  EXPECT_EQ((*file)->tensors()[0].name, "t");  // The header was copied.
}

TEST_F(GgufFileTest, ADeletedModelKeepsItsBytes) {
  WriteShards(2);
  const auto file = GgufFile::Open(Path("m-00001-of-00002.gguf"));
  ASSERT_TRUE(file.ok()) << file.status();
  const absl::Span<const std::byte> data = (*file)->Data(*(*file)->FindTensor("t2"));
  const std::vector<std::byte> before(data.begin(), data.end());
  fs::remove_all(folder_);
  EXPECT_EQ(std::vector<std::byte>(data.begin(), data.end()), before);
  EXPECT_TRUE((*file)->CheckUnchanged().ok());
}

TEST_F(GgufFileTest, FurtherFilesAreNamedBehindTheModelWithCommas) {
  const std::string model = Write(
      "model.gguf", GgufWriter().Key("general.name", "model").Tensor("t1", BlockType::kF32, {8}));
  Write("further.gguf", GgufWriter()
                            .Key("general.name", "further")
                            .Key("further.key", "nothing")
                            .Tensor("table", BlockType::kF32, {16}));
  const auto file = GgufFile::Open(model + "," + Path("further.gguf"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->shards().size(), 2u);
  EXPECT_EQ((*file)->FindKey("general.name")->AsString(), "model");
  EXPECT_EQ((*file)->FindKey("further.key"), nullptr);
  EXPECT_EQ((*file)->Data(*(*file)->FindTensor("table")).size(), 64u);

  // Either may be a split of its own, whose tensors are counted without the other's.
  WriteShards(2);
  const auto split = GgufFile::Open(Path("m-00002-of-00002.gguf") + "," + Path("further.gguf"));
  ASSERT_TRUE(split.ok()) << split.status();
  EXPECT_EQ((*split)->tensors().size(), 3u);
  EXPECT_EQ(ErrorKind(GgufFile::Open(model + "," + Path("m-00001-of-00002.gguf")).status()),
            "duplicate_tensor");
  EXPECT_EQ(ErrorKind(GgufFile::Open(model + "," + Path("none.gguf")).status()), "io");
}

TEST_F(GgufFileTest, ANameMayHaveACommaInIt) {
  const std::string path = Write("a,b.gguf", GgufWriter().Tensor("t1", BlockType::kF32, {8}));
  const auto file = GgufFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->shards().size(), 1u);
}

}  // namespace
}  // namespace strata
