#include "strata/cache/tier/layer_stream.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/cache/experts/expert_geometry.h"
#include "strata/cache/testing/test_experts.h"
#include "strata/cache/tier/expert_table.h"
#include "strata/core/device.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/host_device.h"
#include "strata/core/host_device_faults.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

constexpr int kLayers = 6;
constexpr int kExperts = 8;
constexpr int kUnpinnedStride = 3;

ExpertGeometry GeometryOf(const ExpertFiles& files) {
  std::vector<ExpertGeometry::Layer> layers;
  for (int block = 0; block < kLayers; ++block) {
    layers.push_back({.block = block, .blob_bytes = files.BlobBytes({.layer = block, .index = 0})});
  }
  return ExpertGeometry(std::move(layers), kExperts, 2);
}

// A machine whose copies are late and in any order, with all experts in pinned memory, role by role
// as in a file, and some of them in slots as well.
class LayerStreamTest : public ::testing::Test {
 protected:
  LayerStreamTest() : kernels_(*device_.CreateStream()) {
    pinned_ = *device_.AllocatePinned(experts_.SlotBytes());
    slots_ = *device_.Allocate(experts_.SlotBytes());
    std::byte* end = pinned_.data();
    for (int block = 0; block < kLayers; ++block) {
      for (int part = 0; part < 3; ++part) {
        for (int index = 0; index < kExperts; ++index) {
          const ExpertSlice& slice = SliceOf(block * kExperts + index, part);
          const absl::Span<const std::byte> bytes = experts_.files().Mapped(slice);
          std::copy(bytes.begin(), bytes.end(), end);
          addresses_[block * kExperts + index][part] = end;
          end += bytes.size();
        }
      }
    }
    std::memcpy(slots_.data(), pinned_.data(), static_cast<size_t>(pinned_.size()));
  }

  const ExpertSlice& SliceOf(int number, int part) const {
    return experts_.files().Slices(geometry_.IdOf(number))[part];
  }

  // Entries in pinned memory, but for each expert with the given odds, whose entry is its slot.
  void MakeTable(double share_in_slots, uint64_t seed) {
    std::mt19937_64 random(seed);
    ASSERT_TRUE(*table_.Begin(geometry_.size(), ExpertTable::Wait::kNever));
    for (int number = 0; number < geometry_.size(); ++number) {
      in_slot_[number] = std::bernoulli_distribution(share_in_slots)(random);
      ExpertEntry entry = {.form = in_slot_[number] ? EntryForm::kSlot : EntryForm::kRegistered};
      for (int part = 0; part < 3; ++part) {
        const std::byte* const pinned = addresses_[number][part];
        entry.parts[part] = in_slot_[number] ? slots_.data() + (pinned - pinned_.data()) : pinned;
      }
      table_.Set(number, entry);
    }
    ASSERT_TRUE(table_.Commit().ok());
  }

  void Make(int64_t buffer_bytes) {
    auto stream = LayerStream::Create(experts_.files(), geometry_, buffer_bytes, device_);
    ASSERT_TRUE(stream.ok()) << stream.status();
    stream_ = *std::move(stream);
  }
  int64_t BytesOfLayer(int layer) const { return geometry_.layers()[layer].blob_bytes * kExperts; }

  // In the place of a layer's kernels: counts what is not the file's, and what lies in pinned
  // memory.
  void LaunchLayer(int layer, int stride = 1) {
    device_.Launch(kernels_, [this, layer, stride] {
      const auto* const entries = reinterpret_cast<const ExpertEntry*>(stream_->table());
      for (int number = layer * kExperts; number < (layer + 1) * kExperts; ++number) {
        if (number % stride != 0) continue;
        bool right = true;
        for (int part = 0; part < 3; ++part) {
          const absl::Span<const std::byte> file = experts_.files().Mapped(SliceOf(number, part));
          right &= std::memcmp(entries[number].parts[part], file.data(), file.size()) == 0;
        }
        ++num_read_;
        num_wrong_ += !right;
        num_in_host_memory_ += entries[number].parts[0] == addresses_[number][0];
      }
    });
  }
  absl::Status RunStep(LayerStream::Bring bring = LayerStream::Bring::kAhead, int stride = 1) {
    if (const absl::Status begun = stream_->Begin(table_, kernels_, bring); !begun.ok())
      return begun;
    for (int layer = 0; layer < kLayers; ++layer) {
      if (const absl::Status status = stream_->BeforeLayer(layer); !status.ok()) return status;
      LaunchLayer(layer, stride);
      if (const absl::Status status = stream_->AfterLayer(layer); !status.ok()) return status;
    }
    return stream_->End();
  }

  const TestExperts experts_{{.num_layers = kLayers, .num_experts = kExperts}};
  const ExpertGeometry geometry_ = GeometryOf(experts_.files());
  HostDevice device_{{.max_delay_yields = 2, .shuffle_batches = true, .seed = 7}};
  const DeviceStream kernels_;
  PinnedMemory pinned_;
  DeviceMemory slots_;
  std::array<std::array<const std::byte*, 3>, kLayers * kExperts> addresses_;
  std::array<bool, kLayers* kExperts> in_slot_ = {};
  ExpertTable table_{kLayers * kExperts};
  std::unique_ptr<LayerStream> stream_;
  std::atomic<int> num_read_ = 0, num_wrong_ = 0, num_in_host_memory_ = 0;
};

TEST_F(LayerStreamTest, KernelsFindTheBytesOfTheFileHoweverLateCopiesAre) {
  Make(BytesOfLayer(kLayers - 1));
  for (int step = 0; step < 20; ++step) {
    MakeTable(step % 5 / 4.0, static_cast<uint64_t>(step));
    ASSERT_TRUE(RunStep().ok());
    device_.Drain(kernels_);
  }
  EXPECT_EQ(num_read_, 20 * geometry_.size());
  EXPECT_EQ(num_wrong_, 0);
  EXPECT_EQ(num_in_host_memory_, 0);
}

TEST_F(LayerStreamTest, StepsFollowEachOtherWithoutWaitingForTheKernelsOfTheLast) {
  Make(BytesOfLayer(kLayers - 1));
  for (int step = 0; step < 30; ++step) {
    MakeTable(0.3, static_cast<uint64_t>(step));
    ASSERT_TRUE(RunStep().ok());
  }
  device_.Drain(kernels_);
  EXPECT_EQ(num_read_, 30 * geometry_.size());
  EXPECT_EQ(num_wrong_, 0);
}

TEST_F(LayerStreamTest, WhatABufferHasNoRoomForIsReadWhereItLies) {
  Make(BytesOfLayer(kLayers - 1) / 2);
  MakeTable(0, 1);
  ASSERT_TRUE(RunStep().ok());
  device_.Drain(kernels_);
  EXPECT_EQ(num_wrong_, 0);
  EXPECT_EQ(num_in_host_memory_, geometry_.size() - stream_->num_copied());
  EXPECT_GE(stream_->num_copied(), geometry_.size() / 2);
  EXPECT_LT(stream_->num_copied(), geometry_.size());
}

TEST_F(LayerStreamTest, CopiesWhatHasNoSlotOnceAStep) {
  Make(BytesOfLayer(kLayers - 1));
  MakeTable(0.5, 3);
  ASSERT_TRUE(RunStep().ok());
  int num_missing = 0;
  int64_t bytes = 0;
  for (int number = 0; number < geometry_.size(); ++number) {
    if (in_slot_[number]) continue;
    ++num_missing;
    bytes += geometry_.LayerOf(number).expert_bytes;
    for (int part = 0; part < 3; ++part) bytes += SliceOf(number, part).bytes;
  }
  EXPECT_EQ(stream_->num_copied(), num_missing);
  EXPECT_EQ(stream_->bytes_copied(), bytes);
  MakeTable(1, 3);
  device_.Drain(kernels_);
  ASSERT_TRUE(RunStep().ok());
  EXPECT_EQ(stream_->num_copied(), 0);
  EXPECT_EQ(stream_->bytes_copied(), 0);
}

TEST_F(LayerStreamTest, KernelsBringWhatTheyHaveChosenToWhereTheTableSays) {
  Make(BytesOfLayer(kLayers - 1));
  for (int step = 0; step < 20; ++step) {
    MakeTable(0.3, static_cast<uint64_t>(step));
    ASSERT_TRUE(stream_->Begin(table_, kernels_, LayerStream::Bring::kByKernels).ok());
    for (int layer = 0; layer < kLayers; ++layer) {
      ASSERT_TRUE(stream_->BeforeLayer(layer).ok());
      const absl::StatusOr<const DeviceStream*> copies = stream_->OpenCopies();
      ASSERT_TRUE(copies.ok()) << copies.status();
      device_.Launch(**copies, [this, layer] {
        const auto* const entries = reinterpret_cast<const ExpertEntry*>(stream_->table());
        for (int number = layer * kExperts; number < (layer + 1) * kExperts; ++number) {
          if (in_slot_[number]) continue;
          for (int part = 0; part < 3; ++part) {
            std::memcpy(const_cast<std::byte*>(entries[number].parts[part]),
                        addresses_[number][part],
                        static_cast<size_t>(stream_->PartBytes(layer)[part]));
          }
        }
      });
      ASSERT_TRUE(stream_->WaitForCopies().ok());
      LaunchLayer(layer);
      ASSERT_TRUE(stream_->AfterLayer(layer).ok());
    }
    ASSERT_TRUE(stream_->End().ok());
    device_.Drain(kernels_);
  }
  EXPECT_EQ(num_wrong_, 0);
  EXPECT_EQ(num_in_host_memory_, 0);
  EXPECT_EQ(num_read_, 20 * geometry_.size());
}

TEST_F(LayerStreamTest, AnEventRecordedAfterEndStandsForTheCopiesOfAStepThatWasGivenUp) {
  Make(BytesOfLayer(kLayers - 1));
  MakeTable(0, 1);
  ASSERT_TRUE(stream_->Begin(table_, kernels_, LayerStream::Bring::kAhead).ok());
  ASSERT_TRUE(stream_->BeforeLayer(0).ok());
  ASSERT_TRUE(stream_->End().ok());
  ASSERT_TRUE(device_.Wait(*device_.Record(kernels_)).ok());
  // Nothing reads the experts any more: were a copy late, it would bring these bytes.
  std::memset(pinned_.data(), 0x5a, static_cast<size_t>(pinned_.size()));
  const auto* const entries = reinterpret_cast<const ExpertEntry*>(stream_->table());
  for (int number = 0; number < 2 * kExperts; ++number) {
    const absl::Span<const std::byte> file = experts_.files().Mapped(SliceOf(number, 2));
    EXPECT_EQ(std::memcmp(entries[number].parts[2], file.data(), file.size()), 0) << number;
  }
}

TEST_F(LayerStreamTest, AfterACopyThatWasRefusedTheNextStepIsRight) {
  Make(BytesOfLayer(kLayers - 1));
  MakeTable(0, 1);
  device_.faults().FailNth(HostDeviceFaults::Call::kCopy, 4);
  EXPECT_FALSE(RunStep().ok());
  device_.ClearError();
  stream_->End().IgnoreError();
  device_.Drain(kernels_);
  device_.ClearError();
  num_read_ = num_wrong_ = 0;
  ASSERT_TRUE(RunStep().ok());
  device_.Drain(kernels_);
  EXPECT_EQ(num_read_, geometry_.size());
  EXPECT_EQ(num_wrong_, 0);
}

TEST(LayerStreamBufferTest, IsAsLargeAsTheExpertsOfALayerWithoutSlots) {
  const ExpertGeometry geometry({{.block = 0, .blob_bytes = 512}, {.block = 1, .blob_bytes = 1024}},
                                100, 2);
  const int64_t all = geometry.total_blob_bytes(), spare = 2 * all;
  EXPECT_EQ(LayerStream::BufferBytes(geometry, all, spare), 0);
  EXPECT_EQ(LayerStream::BufferBytes(geometry, 0, spare), 100 * 1024);
  EXPECT_EQ(LayerStream::BufferBytes(geometry, all / 2, spare), 55 * 1024);
}

TEST(LayerStreamBufferTest, TakesLittleFromTheSlotsAndHalfOfWhatIsSpare) {
  const ExpertGeometry geometry({{.block = 0, .blob_bytes = 1024}}, 100, 2);
  EXPECT_EQ(LayerStream::BufferBytes(geometry, 50 * 1024, 0), 50 * 1024 / 40);
  EXPECT_EQ(LayerStream::BufferBytes(geometry, 50 * 1024, 6 * 1024), 3 * 1024);
}

// Entries of some experts point nowhere; kernels find them in the buffers all the same.
TEST_F(LayerStreamTest, BringsWhatLiesInNoPinnedMemoryBeforeAllElse) {
  Make(BytesOfLayer(kLayers - 1));
  for (const auto bring : {LayerStream::Bring::kAhead, LayerStream::Bring::kByKernels}) {
    MakeTable(0.2, 5);
    ASSERT_TRUE(*table_.Begin(geometry_.size(), ExpertTable::Wait::kNever));
    int num_unpinned = 0;
    for (int number = 0; number < geometry_.size(); number += kUnpinnedStride) {
      table_.Set(number, {.form = EntryForm::kStage});
      ++num_unpinned;
    }
    ASSERT_TRUE(table_.Commit().ok());
    ASSERT_EQ(table_.num_staged(), num_unpinned);
    num_read_ = num_wrong_ = 0;
    // Kernels would bring the others.
    ASSERT_TRUE(RunStep(bring, bring == LayerStream::Bring::kAhead ? 1 : kUnpinnedStride).ok());
    device_.Drain(kernels_);
    EXPECT_EQ(num_read_, bring == LayerStream::Bring::kAhead ? geometry_.size() : num_unpinned);
    EXPECT_EQ(num_wrong_, 0);
  }
}

TEST_F(LayerStreamTest, RefusesAStepWhoseUnpinnedExpertsHaveNoRoom) {
  Make(geometry_.layers()[0].blob_bytes);
  ASSERT_TRUE(*table_.Begin(geometry_.size(), ExpertTable::Wait::kNever));
  for (int number = 0; number < geometry_.size(); ++number) {
    table_.Set(number, {.form = EntryForm::kStage});
  }
  ASSERT_TRUE(table_.Commit().ok());
  const absl::Status status = RunStep();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("--pin_budget"));
  MakeTable(1, 5);
  EXPECT_TRUE(RunStep().ok()) << "the refusal came back";
}

}  // namespace
}  // namespace strata
