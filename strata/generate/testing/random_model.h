// For tests: small model files of random weights, right or wrong in a named way.
#ifndef STRATA_GENERATE_TESTING_RANDOM_MODEL_H_
#define STRATA_GENERATE_TESTING_RANDOM_MODEL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "strata/core/block_type.h"

namespace strata {

// A mixture of experts in the form of qwen3moe, 256 values wide: 2 heads of 64 values for one key
// and value head, experts 256 wide. It has no tokenizer.
struct RandomModel {
  struct Tensor {
    std::string name;
    BlockType type;
    std::vector<int64_t> dims;
    std::string bytes;  // Random ones if empty.
  };

  std::string architecture = "qwen3moe";
  BlockType type = BlockType::kF32;  // Of all matrices but the router, which is F32.
  int num_layers = 2;
  int num_experts = 4;
  int num_chosen = 2;
  int vocabulary = 64;
  // Keys after the architecture's prefix, beside or instead of those that the above gives.
  std::map<std::string, uint32_t> numbers;
  std::map<std::string, std::vector<uint64_t>> arrays;  // The same, of u64.
  std::map<std::string, std::string> texts;             // Keys with their whole names.
  // Changes the tensors before they are written. May be empty.
  std::function<void(std::vector<Tensor>&)> edit;

  // Writes it below the test's folder and returns the path.
  std::string Write(absl::string_view name) const;

  // The bytes of `values` as an F32 tensor.
  static std::string Bytes(const std::vector<float>& values);
};

}  // namespace strata

#endif  // STRATA_GENERATE_TESTING_RANDOM_MODEL_H_
