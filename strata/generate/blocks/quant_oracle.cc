#include "strata/generate/blocks/quant_oracle.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "glog/logging.h"
#include "nlohmann/json.hpp"
#include "strata/core/block_type.h"

namespace strata {
namespace {

// Tests start in the runfiles folder of the workspace.
std::string Read(const std::string& name) {
  const std::string path = "testdata/oracles/quant/" + name;
  std::ifstream file(path, std::ios::binary);
  CHECK(file.good()) << path;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

template <typename T>
std::vector<T> ReadArray(const std::string& name) {
  const std::string bytes = Read(name);
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

}  // namespace

std::vector<std::byte> QuantOracle::Rows() const { return ReadArray<std::byte>(name + ".bin"); }
std::vector<float> QuantOracle::DecodedRows() const { return ReadArray<float>(name + ".f32"); }
std::vector<std::byte> QuantOracle::Codes() const {
  return ReadArray<std::byte>(name + ".codes.bin");
}
std::vector<float> QuantOracle::DecodedCodes() const {
  return ReadArray<float>(name + ".codes.f32");
}

std::vector<QuantOracle> LoadQuantOracles() {
  std::vector<QuantOracle> oracles;
  const nlohmann::json index = nlohmann::json::parse(Read("index.json"));
  for (const auto& entry : index.at("types")) {
    const BlockTypeInfo* info = FindBlockType(entry.at("id").get<uint32_t>());
    CHECK(info != nullptr) << entry.at("type");
    oracles.push_back(
        {info->type, entry.at("type"), entry.at("exact_dot").get<std::vector<double>>()});
  }
  CHECK_EQ(oracles.size(), 27);
  return oracles;
}

std::vector<float> LoadOracleActivations() { return ReadArray<float>("activation.f32"); }

}  // namespace strata
