#include "strata/generate/kernels/delta_rule.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "strata/generate/kernels/delta_memory.h"
#include "strata/generate/kernels/isa.h"

namespace strata {
namespace {

constexpr int kColumns = DeltaMemory::kBlockColumns;

using Values = std::vector<float>;

Values Normal(int64_t count, double scale, std::mt19937& random) {
  std::normal_distribution<float> normal(0.0f, static_cast<float>(scale));
  Values values(count);
  for (float& value : values) value = normal(random);
  return values;
}

// Some tokens that meet a block of a head of this size.
struct Text {
  Text(int64_t size, int num_tokens, uint32_t seed) : size(size) {
    std::mt19937 random(seed);
    memory = Normal(DeltaMemory::BlockValues(size), 0.3, random);
    for (int t = 0; t < num_tokens; ++t) {
      queries.push_back(Normal(size, 0.2, random));
      keys.push_back(Normal(size, 0.2, random));
      values.push_back(Normal(kColumns, 1.0, random));
      decays.push_back(0.5f + 0.4f * std::sin(static_cast<float>(t)));
      betas.push_back(0.5f + 0.3f * std::cos(static_cast<float>(t)));
    }
  }

  DeltaToken Token(size_t t) const {
    double dot = 0;
    for (int64_t i = 0; i < size; ++i) dot += double{queries[t][i]} * keys[t][i];
    return {.size = size,
            .query = queries[t].data(),
            .key = keys[t].data(),
            .value = values[t].data(),
            .query_dot_key = static_cast<float>(dot),
            .decay = decays[t],
            .beta = betas[t]};
  }

  int64_t size;
  Values memory;
  std::vector<Values> queries, keys, values;
  Values decays, betas;
};

// What the tokens read, then the memory after them. Every second token writes to other memory.
Values Answers(const Text& text) {
  Values memory = text.memory, other(memory.size()), results;
  for (size_t t = 0; t < text.queries.size(); ++t) {
    Values out(kColumns);
    if (t % 2 == 0) {
      ApplyDeltaRule(text.Token(t), memory.data(), memory.data(), out.data());
    } else {
      ApplyDeltaRule(text.Token(t), memory.data(), other.data(), out.data());
      memory.swap(other);
    }
    results.insert(results.end(), out.begin(), out.end());
  }
  results.insert(results.end(), memory.begin(), memory.end());
  return results;
}

TEST(DeltaRuleTest, IsTheDeltaRule) {
  const Text text(24, 5, 1);
  const Values got = Answers(text);
  // As the papers write it, in f64: the memory decays, what it says of the key is corrected, and
  // the query reads what came of that.
  std::vector<double> memory(text.memory.begin(), text.memory.end());
  size_t next = 0;
  for (size_t t = 0; t < text.queries.size(); ++t) {
    for (double& value : memory) value *= text.decays[t];
    for (int j = 0; j < kColumns; ++j) {
      double held = 0, read = 0;
      for (int i = 0; i < text.size; ++i) held += text.keys[t][i] * memory[i * kColumns + j];
      const double change = text.betas[t] * (text.values[t][j] - held);
      for (int i = 0; i < text.size; ++i) memory[i * kColumns + j] += text.keys[t][i] * change;
      for (int i = 0; i < text.size; ++i) read += text.queries[t][i] * memory[i * kColumns + j];
      EXPECT_NEAR(got[next++], read, 2e-6);
    }
  }
  for (const double value : memory) EXPECT_NEAR(got[next++], value, 2e-6);
}

TEST(DeltaRuleTest, HasTheSameBitsOnEveryInstructionSet) {
  for (const int64_t size : {1, 3, 4, 30, 32, 64, 127, 128}) {
    const Text text(size, 6, static_cast<uint32_t>(size));
    SetIsa(Isa::kScalar);
    const Values expected = Answers(text);
    for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
      if (!IsSupported(isa)) continue;
      SetIsa(isa);
      const Values got = Answers(text);
      ASSERT_EQ(got.size(), expected.size());
      EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)), 0)
          << NameOf(isa) << ", " << size << " rows";
    }
    SetIsa(BestIsa());
  }
}

}  // namespace
}  // namespace strata
