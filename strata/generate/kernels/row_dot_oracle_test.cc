#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include "gtest/gtest.h"
#include "strata/core/block_type.h"
#include "strata/generate/blocks/quant_oracle.h"
#include "strata/generate/kernels/activation.h"
#include "strata/generate/kernels/row_dot.h"

namespace strata {
namespace {

double Norm(const float* x, int n) {
  double sum = 0.0;
  for (int i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * x[i];
  return std::sqrt(sum);
}

TEST(RowDotOracleTest, ComesNearTheExactDotOfEveryType) {
  const std::vector<float> x = LoadOracleActivations();
  ASSERT_EQ(x.size(), kOracleColumns);
  ActivationBuffer activations;
  for (const QuantOracle& oracle : LoadQuantOracles()) {
    const std::optional<ActivationForm> form = ActivationFormOf(oracle.type);
    ASSERT_TRUE(form.has_value()) << oracle.name;
    ASSERT_TRUE(activations.Assign(*form, x));
    const std::vector<std::byte> rows = oracle.Rows();
    const std::vector<float> decoded = oracle.DecodedRows();
    const double tolerance = *form == ActivationForm::kF32 ? 1e-5 : 2e-3;
    for (int r = 0; r < kOracleRows; ++r) {
      const std::byte* row = &rows[r * rows.size() / kOracleRows];
      const double norms =
          Norm(&decoded[r * kOracleColumns], kOracleColumns) * Norm(x.data(), kOracleColumns);
      EXPECT_NEAR(RowDot(oracle.type, row, activations.view()), oracle.exact_dot[r],
                  tolerance * norms)
          << oracle.name << " row " << r;
    }
  }
}

}  // namespace
}  // namespace strata
