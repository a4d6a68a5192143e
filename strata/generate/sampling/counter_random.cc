#include "strata/generate/sampling/counter_random.h"

#include <cstdint>

namespace strata {
namespace {

uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

}  // namespace

double UniformAt(uint64_t seed, int64_t position) {
  const uint64_t bits = Mix(Mix(seed) + static_cast<uint64_t>(position));
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace strata
