#include "strata/generate/model/rotary_options.h"

#include <cmath>

namespace strata {

double YarnMagnitude(double factor, double multiplier) {
  return factor <= 1.0 ? 1.0 : 0.1 * multiplier * std::log(factor) + 1.0;
}

}  // namespace strata
