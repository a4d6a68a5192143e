#include "strata/cache/pack/pack.h"

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/host/blob_reader.h"
#include "strata/cache/host/expert_source.h"
#include "strata/cache/pack/pack_folder.h"
#include "strata/cache/pack/pack_manifest.h"
#include "strata/cache/pack/pack_manifest_file.h"
#include "strata/cache/pack/testing/small_model.h"
#include "strata/core/error.h"
#include "strata/core/gguf/expert_layout.h"

namespace strata {
namespace {

using testing::HasSubstr;

class PackTest : public testing::Test {
 protected:
  PackTest() : folder_(NewFolder("pack")), pack_(folder_ + "/pack") {}

  OpenModel Model(const SmallModelShape& shape, const std::string& name = "model") const {
    return OpenModel(WriteSmallModel(folder_, name, shape));
  }
  absl::Status OpenFor(const OpenModel& model) const {
    return Pack::OpenFor(pack_, *model.file, model.layout, model.identity).status();
  }

  const std::string folder_, pack_;
};

TEST_F(PackTest, ItsExpertsAreThoseOfTheModelEachInOneRun) {
  for (const char* form : {"merged", "fused", "separate"}) {
    const OpenModel model = Model({.form = form, .shards = 2});
    ASSERT_TRUE(BuildPack(model, PackOptions(model, pack_, {7, 6, 5, 4, 3, 2, 1, 0})).ok());
    const auto pack = Pack::OpenFor(pack_, *model.file, model.layout, model.identity);
    ASSERT_TRUE(pack.ok()) << pack.status();
    const ExpertFiles of_model(*model.file, model.layout);
    const ExpertFiles of_pack = (*pack)->Experts(model.layout);
    BlobReader reader(of_pack);
    const ExpertSource source(reader, nullptr, nullptr);
    for (const ExpertId id : of_model.ids()) {
      EXPECT_TRUE(of_pack.LieAsBlob(of_pack.Slices(id)));
      EXPECT_FALSE(of_model.LieAsBlob(of_model.Slices(id)));
      std::vector<std::byte> blob(static_cast<size_t>(of_pack.BlobBytes(id)));
      ASSERT_TRUE(reader.Read(id, absl::MakeSpan(blob)).ok());
      const HostBlob located = source.Locate(id);
      EXPECT_TRUE(located.in_one_piece);
      for (const HostBlob::Part& part : located.parts()) {
        const ExpertSlice& slice = of_model.Slices(id)[&part - located.parts().data()];
        const absl::Span<const std::byte> expected = of_model.Mapped(slice);
        EXPECT_EQ(part.bytes, expected);
        EXPECT_EQ(std::memcmp(blob.data() + part.offset_in_blob, expected.data(), expected.size()),
                  0);
      }
    }
  }
}

TEST_F(PackTest, AnotherModelIsRefusedWithTheFirstDifference) {
  const OpenModel model = Model({});
  ASSERT_TRUE(BuildPack(model, PackOptions(model, pack_)).ok());
  EXPECT_TRUE(OpenFor(model).ok());
  const struct {
    SmallModelShape shape;
    const char* difference;
  } others[] = {
      {{.form = "fused"}, "tensor 3 of the pack is blk.0.ffn_gate_exps.weight"},
      {{.layers = 3}, "the pack has 11 tensors, the model 16"},
      {{.shards = 2}, "the pack has 1 shards, the model 2"},
      {{.width = 24}, "of the model it is output_norm.weight, F32 of 24"},
      {{.seed = 2}, "routers of other contents"},
  };
  for (const auto& other : others) {
    const absl::Status status = OpenFor(Model(other.shape, "other"));
    EXPECT_EQ(ErrorKind(status), "pack_mismatch") << other.difference;
    EXPECT_THAT(std::string(status.message()), HasSubstr(other.difference));
  }
}

// As a model that was trained further, all but the routers.
TEST_F(PackTest, ExpertsOfOtherContentsAreRefused) {
  const std::string path = WriteSmallModel(folder_, "model", {});
  {
    const OpenModel model(path);
    ASSERT_TRUE(BuildPack(model, PackOptions(model, pack_)).ok());
    const ExpertFiles files(*model.file, model.layout);
    for (const ExpertId id : files.ids()) {
      Flip(path, model.layout.Slices(id)[1].file_offset + 77);
    }
  }
  const absl::Status status = OpenFor(OpenModel(path));
  EXPECT_EQ(ErrorKind(status), "pack_mismatch");
  EXPECT_THAT(status.message(), HasSubstr("layer 0, expert 0, up"));
}

// Whose bytes would be taken for each other's: a reader goes by the model.
TEST_F(PackTest, APackThatSaysOtherwiseOfALayerIsRefused) {
  const OpenModel model = Model({});
  ASSERT_TRUE(BuildPack(model, PackOptions(model, pack_)).ok());
  const std::string path = PackFolder(pack_).manifest();
  absl::StatusOr<PackManifest> manifest = LoadManifest(path);
  ASSERT_TRUE(manifest.ok());
  std::swap(manifest->layers[1].parts[0].role, manifest->layers[1].parts[1].role);
  ASSERT_TRUE(SaveManifest(*manifest, path).ok());
  const absl::Status status = OpenFor(model);
  EXPECT_EQ(ErrorKind(status), "pack_mismatch");
  EXPECT_THAT(status.message(), HasSubstr("the pack has layer 1: up, F32 of 1600 bytes"));
}

TEST_F(PackTest, ANameIsNoIdentity) {
  const OpenModel model = Model({});
  ASSERT_TRUE(BuildPack(model, PackOptions(model, pack_)).ok());
  std::filesystem::rename(folder_ + "/model.gguf", folder_ + "/renamed.gguf");
  EXPECT_TRUE(OpenFor(OpenModel(folder_ + "/renamed.gguf")).ok());
}

TEST_F(PackTest, ExpertsOfAnotherPackAreRefused) {
  const OpenModel model = Model({});
  ASSERT_TRUE(BuildPack(model, PackOptions(model, pack_)).ok());
  ASSERT_TRUE(
      BuildPack(model, PackOptions(model, folder_ + "/other", {1, 0, 2, 3, 4, 5, 6, 7})).ok());
  std::filesystem::copy_file(folder_ + "/other/experts.bin", pack_ + "/experts.bin",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(ErrorKind(OpenFor(model)), "pack_mismatch");
  std::filesystem::resize_file(pack_ + "/experts.bin", 5000);
  EXPECT_EQ(ErrorKind(OpenFor(model)), "pack_mismatch");
  std::filesystem::remove(pack_ + "/experts.bin");
  EXPECT_EQ(ErrorKind(OpenFor(model)), "io");
}

}  // namespace
}  // namespace strata
