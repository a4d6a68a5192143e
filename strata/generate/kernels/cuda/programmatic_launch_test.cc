// Kernels that start while their predecessor ends give the same bits as kernels that wait for it,
// over many steps that are replayed as one graph.
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "cuda_runtime.h"
#include "glog/logging.h"
#include "gtest/gtest.h"
#include "strata/generate/kernels/cuda/attend_rows.h"
#include "strata/generate/kernels/cuda/device_array.h"
#include "strata/generate/kernels/cuda/kernel_test.h"
#include "strata/generate/kernels/cuda/kv_page.h"
#include "strata/generate/kernels/cuda/kv_pages.h"
#include "strata/generate/kernels/cuda/launch.h"
#include "strata/generate/kernels/cuda/norm_rows.h"
#include "strata/generate/kernels/cuda/prepare_heads.h"
#include "strata/generate/kernels/cuda/route_rows.h"
#include "strata/generate/kernels/cuda/step_block.h"

namespace strata {
namespace {

constexpr int kNumRows = 2;
constexpr int kHeads = 16;
constexpr int kKvHeads = 2;
constexpr int kHeadSize = 128;
constexpr int kQuerySize = kHeads * kHeadSize;
constexpr int kKeySize = kKvHeads * kHeadSize;
constexpr int kWidth = kQuerySize;  // Attention's output is the part that is added.
constexpr int kExperts = 64;
constexpr int kChosen = 4;
constexpr int kLayers = 24;
constexpr int kReplays = 400;

// The kernels of a step without their products: a norm gives queries, its first values are keys and
// values too.
class ProgrammaticLaunchTest : public KernelTest {
 protected:
  struct Memory {
    DeviceArray<float> x{kNumRows * kWidth}, sum{kNumRows * kWidth}, logits{kNumRows * kExperts};
    DeviceArray<float> queries{kNumRows * kQuerySize}, weights{kNumRows * kChosen};
    DeviceArray<int32_t> experts{kNumRows * kChosen};
    DeviceArray<uint32_t> tickets{kMaxRows}, attention_tickets{kNumRows * (kKvHeads + 1)};
    ActivationArrays normed{kNumRows, kWidth}, attended{kNumRows, kWidth}, routed{kNumRows, kWidth};
    std::unique_ptr<DeviceArray<float>> partials;
    std::unique_ptr<DeviceArray<float>> router;
    std::unique_ptr<DeviceArray<DeviceStep>> step;
    std::unique_ptr<KvPages> pages;
  };

  static KvLayer Layer() {
    return {.num_heads = kKvHeads, .key_size = kHeadSize, .value_size = kHeadSize};
  }

  void LaunchStep(const Memory& memory, const KernelStream& stream) {
    for (int layer = 0; layer < kLayers; ++layer) {
      CHECK(NormRows({.num_rows = kNumRows,
                      .x = memory.x.data(),
                      .epsilon = 1e-6f,
                      .out = memory.normed.forms(),
                      .fault = fault()},
                     stream)
                .ok());
      const float* const normed = memory.normed.forms().values;
      CHECK(PrepareHeads({.num_rows = kNumRows,
                          .num_heads = kHeads,
                          .kv = Layer(),
                          .query = {normed, kWidth},
                          .key = {normed, kWidth},
                          .value = {normed + kKeySize, kWidth},
                          .epsilon = 1e-6f,
                          .step = memory.step->data(),
                          .page_table = memory.pages->table(),
                          .queries = memory.queries.data(),
                          .fault = fault()},
                         stream)
                .ok());
      CHECK(AttendRows({.num_rows = kNumRows,
                        .num_heads = kHeads,
                        .kv = Layer(),
                        .scale = 0.05f,
                        .step = memory.step->data(),
                        .page_table = memory.pages->table(),
                        .queries = memory.queries.data(),
                        .partials = memory.partials->data(),
                        .tickets = memory.attention_tickets.data(),
                        .prefetches = stream.programmatic,
                        .out = memory.attended.forms(),
                        .fault = fault()},
                       stream)
                .ok());
      CHECK(RouteRows({.norm = {.num_rows = kNumRows,
                                .x = memory.x.data(),
                                .residual = {.part = memory.attended.forms().values,
                                             .sum = memory.sum.data()},
                                .epsilon = 1e-6f,
                                .out = memory.routed.forms(),
                                .fault = fault()},
                       .router = {.num_experts = kExperts,
                                  .num_chosen = kChosen,
                                  .weights = memory.router->data()},
                       .logits = memory.logits.data(),
                       .tickets = memory.tickets.data(),
                       .experts = memory.experts.data(),
                       .weights = memory.weights.data(),
                       .fault = fault()},
                      stream)
                .ok());
      CHECK(NormRows({.num_rows = kNumRows,
                      .x = memory.sum.data(),
                      .residual = {.part = memory.routed.forms().values,
                                   .scale = 0.1f,
                                   .sum = memory.x.data()},
                      .epsilon = 1e-6f,
                      .out = memory.normed.forms(),
                      .fault = fault()},
                     stream)
                .ok());
    }
  }

  // The state after many steps.
  std::vector<float> Run(const std::vector<float>& state, const std::vector<float>& router,
                         bool programmatic) {
    Memory memory;
    memory.x.Write(state);
    memory.tickets.Clear();
    memory.attention_tickets.Clear();
    memory.partials =
        std::make_unique<DeviceArray<float>>(AttentionPartialFloats(kNumRows, kHeads, Layer()));
    memory.router = std::make_unique<DeviceArray<float>>(router);
    DeviceStep step;
    memory.pages = std::make_unique<KvPages>(Layer(), kNumRows, 8);
    std::mt19937 random(2);
    for (int row = 0; row < kNumRows; ++row) {
      step.rows[row] = {.position = 300 + 100 * row, .first_page = memory.pages->first_page(row)};
      memory.pages->Fill(row, step.rows[row].position, random);
    }
    memory.pages->Upload();
    memory.step = std::make_unique<DeviceArray<DeviceStep>>(std::vector<DeviceStep>{step});

    cudaStream_t stream;
    CHECK_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    FinishKernels();
    CHECK_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    LaunchStep(memory, {.stream = stream, .programmatic = programmatic});
    cudaGraph_t graph;
    CHECK_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    cudaGraphExec_t step_graph;
    CHECK_EQ(cudaGraphInstantiate(&step_graph, graph, 0), cudaSuccess);
    for (int i = 0; i < kReplays; ++i) CHECK_EQ(cudaGraphLaunch(step_graph, stream), cudaSuccess);
    FinishKernels();
    cudaGraphExecDestroy(step_graph);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    return memory.x.Read();
  }
};

TEST_F(ProgrammaticLaunchTest, GivesTheSameBitsAsPlainLaunches) {
  const std::vector<float> state = RandomValues(kNumRows * kWidth);
  const std::vector<float> router = RandomValues(kExperts * kWidth);
  const std::vector<float> plain = Run(state, router, /*programmatic=*/false);
  EXPECT_NE(plain, state);
  EXPECT_EQ(ReadFault(), kNoFault);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(Run(state, router, /*programmatic=*/true), plain) << round;
  }
}

}  // namespace
}  // namespace strata
