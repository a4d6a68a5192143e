// testdata/oracles/quant: every block type as another implementation quantized and decoded it. For
// tests; a file that is missing or too short ends the test program.
#ifndef STRATA_GENERATE_BLOCKS_QUANT_ORACLE_H_
#define STRATA_GENERATE_BLOCKS_QUANT_ORACLE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "strata/core/block_type.h"

namespace strata {

struct QuantOracle {
  BlockType type;
  std::string name;               // As in the file names: "q4_K".
  std::vector<double> exact_dot;  // Of each row, decoded, with the activations.

  std::vector<std::byte> Rows() const;
  std::vector<float> DecodedRows() const;
  std::vector<std::byte> Codes() const;
  std::vector<float> DecodedCodes() const;
};

inline constexpr int kOracleRows = 8;
inline constexpr int kOracleColumns = 512;

std::vector<QuantOracle> LoadQuantOracles();
std::vector<float> LoadOracleActivations();

}  // namespace strata

#endif  // STRATA_GENERATE_BLOCKS_QUANT_ORACLE_H_
