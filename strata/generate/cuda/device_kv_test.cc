#include "strata/generate/cuda/device_kv.h"

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/cli/runfiles.h"
#include "strata/core/error.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/host_device.h"
#include "strata/generate/engine/kv_type.h"
#include "strata/generate/kernels/cuda/kv_page.h"
#include "strata/generate/model/bind_model.h"
#include "strata/generate/model/model_graph.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kContext = 4096;

class DeviceKvTest : public ::testing::Test {
 protected:
  DeviceKvTest()
      : file_(GgufFile::Open(Runfile("testdata/strata-tiny-q4_k_m.gguf").value()).value()),
        graph_(BindModel(*file_).value()) {}

  const std::unique_ptr<GgufFile> file_;
  const ModelGraph graph_;
};

TEST_F(DeviceKvTest, MakesRoomForATextAtOnceAndOnce) {
  HostDevice device;
  DeviceKv kv(device, KvType::kF16, graph_, kContext);
  DeviceSequence sequence(kv);
  EXPECT_EQ(kv.bytes(), 0);
  ASSERT_TRUE(sequence.MakeRoom(1000).ok());
  const int64_t pages = (1000 + kKvPagePositions - 1) / kKvPagePositions;
  EXPECT_EQ(kv.bytes(), pages * kv.page_bytes());
  ASSERT_TRUE(sequence.MakeRoom(1000).ok());
  ASSERT_TRUE(sequence.MakeRoom(10).ok());
  EXPECT_EQ(kv.bytes(), pages * kv.page_bytes());
  ASSERT_TRUE(sequence.MakeRoom(pages * kKvPagePositions + 1).ok());
  EXPECT_EQ(kv.bytes(), (pages + 1) * kv.page_bytes());
}

TEST_F(DeviceKvTest, RefusesATextThatDoesNotFitByNumbers) {
  HostDevice measure;
  const int64_t page_bytes = DeviceKv(measure, KvType::kF16, graph_, kContext).page_bytes();
  HostDevice device({.memory_bytes = 10 * page_bytes});
  DeviceKv kv(device, KvType::kF16, graph_, kContext);
  DeviceSequence sequence(kv);
  ASSERT_TRUE(sequence.MakeRoom(2 * kKvPagePositions).ok());
  const absl::Status refused = sequence.MakeRoom(kContext);
  EXPECT_EQ(ExitCodeOf(refused), ExitCode::kMachine) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("of GPU memory"));
  EXPECT_THAT(refused.message(), HasSubstr("are free"));
  EXPECT_EQ(kv.bytes(), 2 * page_bytes);
  EXPECT_TRUE(sequence.MakeRoom(8 * kKvPagePositions).ok());
}

}  // namespace
}  // namespace strata
