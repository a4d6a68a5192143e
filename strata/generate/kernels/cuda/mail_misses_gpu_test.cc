#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "cuda_runtime.h"
#include "gtest/gtest.h"
#include "strata/cache/tier/expert_entry.h"
#include "strata/generate/kernels/cuda/device_array.h"
#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/expert_mail.h"
#include "strata/generate/kernels/cuda/kernel_test.h"
#include "strata/generate/kernels/cuda/mail_misses.h"

namespace strata {
namespace {

constexpr int kWidth = 264;
constexpr int kExperts = 12;
constexpr int kChosen = 5;

// Of the host, that the device writes to.
struct Pinned {
  MailRequest request;
  alignas(128) float x[kWidth] = {};
  alignas(128) uint32_t answered = 0;
  alignas(128) uint32_t late = 0;
  alignas(128) float answers[kChosen][kWidth] = {};
};

class MailMissesTest : public KernelTest {
 protected:
  void SetUp() override {
    KernelTest::SetUp();
    if (IsSkipped()) return;
    arrays_ = std::make_unique<Arrays>();
    void* memory = nullptr;
    CheckCuda(cudaHostAlloc(&memory, sizeof(Pinned), cudaHostAllocDefault));
    pinned_ = new (memory) Pinned();
    arrays_->state.Clear();
    mail_ = {.width = kWidth,
             .request = &pinned_->request,
             .x = pinned_->x,
             .answered = &pinned_->answered,
             .answers = &pinned_->answers[0][0],
             .late = &pinned_->late,
             .state = arrays_->state.data(),
             .by_rank = arrays_->by_rank.data()};
  }
  void TearDown() override {
    if (pinned_ != nullptr) cudaFreeHost(pinned_);
  }

  // All experts but those with an even index are in slots.
  static std::vector<DeviceExpert> Table() {
    std::vector<DeviceExpert> table(kExperts);
    for (size_t i = 0; i < table.size(); ++i) {
      const ExpertEntry entry = {.generation = 77,
                                 .form = i % 2 == 0 ? EntryForm::kRegistered : EntryForm::kSlot,
                                 .landing = 3};
      std::memcpy(static_cast<void*>(&table[i]), &entry, sizeof(entry));
    }
    return table;
  }

  void Launch(const std::vector<int32_t>& chosen, const std::vector<float>& x,
              int64_t limit_ns = kMailLimitNs, bool is_first = false) {
    arrays_->chosen.Write(chosen);
    arrays_->x.Write(x);
    ASSERT_TRUE(PostMisses({.mail = mail_,
                            .routing = {.num_experts = kExperts,
                                        .num_chosen = kChosen,
                                        .experts = arrays_->chosen.data()},
                            .experts = arrays_->table.data(),
                            .x = arrays_->x.data(),
                            .is_first = is_first},
                           stream_)
                    .ok());
    ASSERT_TRUE(AwaitMisses({.mail = mail_, .limit_ns = limit_ns}, stream_).ok());
  }

  uint64_t Flag() const { return std::atomic_ref<uint64_t>(pinned_->request.flag).load(); }

  // Device memory, which there is with a card alone.
  struct Arrays {
    const DeviceArray<MailState> state{1};
    const DeviceArray<float> by_rank{kChosen * kWidth};
    const DeviceArray<DeviceExpert> table{Table()};
    const DeviceArray<int32_t> chosen{kChosen};
    const DeviceArray<float> x{kWidth};
  };

  Pinned* pinned_ = nullptr;
  ExpertMail mail_;
  std::unique_ptr<Arrays> arrays_;
};

TEST_F(MailMissesTest, WhatIsInNoSlotIsPostedAndItsAnswersComeByRank) {
  for (uint32_t number = 1; number <= 200; ++number) {
    const std::vector<float> x = RandomValues(kWidth);
    const std::vector<float> answers = RandomValues(2 * kWidth);
    std::thread host([&] {
      while (Flag() >> 32 != number) std::this_thread::yield();
      EXPECT_EQ(Flag() & 0xffffffffu, 2u);
      EXPECT_EQ(pinned_->request.ranks[0], 1);
      EXPECT_EQ(pinned_->request.experts[0], 4);
      EXPECT_EQ(pinned_->request.ranks[1], 4);
      EXPECT_EQ(pinned_->request.experts[1], 0);
      EXPECT_EQ(std::vector<float>(pinned_->x, pinned_->x + kWidth), x);
      std::memcpy(pinned_->answers, answers.data(), answers.size() * sizeof(float));
      std::atomic_ref<uint32_t>(pinned_->answered).store(number);
    });
    Launch({3, 4, 11, 7, 0}, x);
    const std::vector<float> found = arrays_->by_rank.Read();
    host.join();
    for (int i = 0; i < kWidth; ++i) {
      ASSERT_EQ(found[1 * kWidth + i], answers[i]);
      ASSERT_EQ(found[4 * kWidth + i], answers[kWidth + i]);
    }
  }
}

TEST_F(MailMissesTest, WhereNothingIsMissedNobodyWaits) {
  Launch({3, 5, 11, 7, 1}, RandomValues(kWidth));
  FinishKernels();
  EXPECT_EQ(Flag(), uint64_t{1} << 32);
}

TEST_F(MailMissesTest, AHostThatDoesNotAnswerEndsTheWaitsOfTheStep) {
  Launch({2, 5, 11, 7, 1}, RandomValues(kWidth), /*limit_ns=*/1000000);
  Launch({2, 5, 11, 7, 1}, RandomValues(kWidth));  // Of the same step: it does not wait.
  FinishKernels();
  EXPECT_EQ(pinned_->late, 1u);
  EXPECT_EQ(Flag(), uint64_t{2} << 32 | 1);
  // The next step waits again.
  std::atomic_ref<uint32_t>(pinned_->answered).store(3);
  pinned_->late = 0;
  Launch({2, 5, 11, 7, 1}, RandomValues(kWidth), kMailLimitNs, /*is_first=*/true);
  FinishKernels();
  EXPECT_EQ(pinned_->late, 0u);
}

}  // namespace
}  // namespace strata
