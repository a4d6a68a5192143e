#include "strata/cache/testing/test_experts.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "gtest/gtest.h"
#include "strata/cache/experts/expert_files.h"
#include "strata/core/file_mapping.h"
#include "strata/core/gguf/blob_layout.h"
#include "strata/core/gguf/expert_layout.h"

namespace strata {
namespace {

constexpr int64_t kFileAlignment = 32;

std::string NextPath() {
  static int number = 0;
  return absl::StrCat(::testing::TempDir(), "/experts_", getpid(), "_", number++);
}

void WriteRandomFile(const std::string& path, int64_t bytes, std::mt19937_64& random) {
  std::vector<uint64_t> words(bytes / 8 + 1);
  for (uint64_t& word : words) word = random();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(words.data()), bytes);
  CHECK(file.good()) << path;
}

}  // namespace

TestExperts::TestExperts(const Options& options) {
  constexpr ExpertRole kRoles[] = {ExpertRole::kGate, ExpertRole::kUp, ExpertRole::kDown};
  std::vector<int64_t> shard_bytes(options.num_shards, 64);
  std::vector<std::pair<ExpertId, ExpertSlices>> experts;
  for (int layer = 0; layer < options.num_layers; ++layer) {
    for (int index = 0; index < options.num_experts; ++index) {
      ExpertSlices slices;
      for (int i = 0; i < 3; ++i) {
        const int shard = i < 2 ? 0 : options.num_shards - 1;
        const int64_t bytes = options.slice_bytes[i] + 96 * layer;
        const int64_t start =
            (shard_bytes[shard] + kFileAlignment - 1) / kFileAlignment * kFileAlignment +
            options.misalignment;
        slices.push_back({.role = kRoles[i],
                          .type = BlockType::kI8,
                          .shard = shard,
                          .file_offset = start,
                          .bytes = bytes,
                          .row_length = bytes,
                          .num_rows = 1});
        shard_bytes[shard] = start + bytes;
      }
      experts.emplace_back(ExpertId{.layer = layer, .index = index}, slices);
    }
  }
  std::mt19937_64 random(options.seed);
  std::vector<const FileMapping*> shards;
  for (const int64_t bytes : shard_bytes) {
    paths_.push_back(NextPath());
    WriteRandomFile(paths_.back(), bytes, random);
    mappings_.push_back(std::move(FileMapping::Open(paths_.back())).value());
    shards.push_back(mappings_.back().get());
  }
  files_ = std::make_unique<ExpertFiles>(std::move(shards), std::move(experts));
}

TestExperts::~TestExperts() {
  for (const std::string& path : paths_) std::remove(path.c_str());
}

void TestExperts::MakeCold() const {
  for (const auto& mapping : mappings_) {
    fdatasync(mapping->fd());
    mapping->DropPages(0, mapping->size());
    posix_fadvise(mapping->fd(), 0, 0, POSIX_FADV_DONTNEED);
  }
}

std::vector<FillItem> TestExperts::SlotsIn(const DeviceMemory& memory) const {
  CHECK_GE(memory.size(), SlotBytes());
  std::vector<FillItem> slots;
  for (const ExpertId id : ids()) {
    slots.push_back({id, memory.data() + files_->max_blob_bytes() * std::ssize(slots)});
  }
  return slots;
}

int TestExperts::NumWrong(const std::byte* blobs) const {
  int num_wrong = 0;
  for (const ExpertId id : ids()) {
    num_wrong += !IsBlobOf(id, blobs);
    blobs += files_->max_blob_bytes();
  }
  return num_wrong;
}

bool TestExperts::IsBlobOf(ExpertId id, const std::byte* blob) const {
  const ExpertSlices& slices = files_->Slices(id);
  const BlobLayout layout = slices.layout();
  for (int i = 0; i < layout.num_parts(); ++i) {
    const absl::Span<const std::byte> expected = files_->Mapped(slices[i]);
    if (std::memcmp(blob + layout.offset(i), expected.data(), expected.size()) != 0) return false;
  }
  return true;
}

}  // namespace strata
