// Median and spread of repeated measurements.
#ifndef STRATA_CORE_CLI_QUARTILES_H_
#define STRATA_CORE_CLI_QUARTILES_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace strata {

struct Quartiles {
  double first = 0.0;
  double median = 0.0;
  double third = 0.0;

  // Between two values where a quartile falls between them. `values` are not empty.
  static Quartiles Of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const auto at = [&values](double share) {
      const double place = share * static_cast<double>(values.size() - 1);
      const auto below = static_cast<size_t>(std::floor(place));
      const auto above = static_cast<size_t>(std::ceil(place));
      return std::lerp(values[below], values[above], place - std::floor(place));
    };
    return {.first = at(0.25), .median = at(0.5), .third = at(0.75)};
  }
};

}  // namespace strata

#endif  // STRATA_CORE_CLI_QUARTILES_H_
