#include "strata/generate/model/bind_model.h"

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <ios>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/block_type.h"
#include "strata/core/error.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_value.h"
#include "strata/core/gguf/gguf_writer.h"
#include "strata/generate/model/gated_activation.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/testing/open_model.h"
#include "strata/generate/testing/random_delta_net.h"
#include "strata/generate/testing/random_model.h"
#include "strata/generate/testing/random_streams.h"

namespace strata {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Tensors = std::vector<RandomModel::Tensor>;

absl::Status Bind(const RandomModel& model) {
  const absl::StatusOr<std::unique_ptr<GgufFile>> file = GgufFile::Open(model.Write("model"));
  return file.ok() ? BindModel(**file).status() : file.status();
}

// The model with a change to the tensor of this name.
RandomModel Changed(const std::string& name,
                    const std::function<void(RandomModel::Tensor&)>& change) {
  return {.edit = [=](Tensors& tensors) {
    for (RandomModel::Tensor& tensor : tensors) {
      if (tensor.name == name) change(tensor);
    }
  }};
}

void ExpectRefused(const RandomModel& model, const std::string& kind, const std::string& item) {
  const absl::Status status = Bind(model);
  EXPECT_EQ(ErrorKind(status), kind) << status;
  EXPECT_THAT(status.message(), HasSubstr(item));
  EXPECT_THAT(ErrorFile(status), HasSubstr("model.gguf"));
}

TEST(BindModelTest, ReadsShapesFromMetadataAndTensors) {
  const absl::StatusOr<std::unique_ptr<GgufFile>> file =
      GgufFile::Open(RandomModel{}.Write("model"));
  ASSERT_TRUE(file.ok()) << file.status();
  const absl::StatusOr<ModelGraph> graph = BindModel(**file);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->width, 256);
  EXPECT_EQ(graph->vocabulary, 64);
  ASSERT_EQ(graph->layers.size(), 2);
  const auto& attention = std::get<SelfAttention>(graph->layers[1].mixer);
  EXPECT_EQ(attention.num_heads, 2);
  EXPECT_EQ(attention.num_kv_heads, 1);
  EXPECT_EQ(attention.scale, 0.125f);
  EXPECT_EQ(attention.query.name, "blk.1.attn_q.weight");
  const auto& experts = std::get<MixtureOfExperts>(graph->layers[1].feed_forward);
  EXPECT_EQ(experts.routing.num_experts, 4);
  EXPECT_EQ(experts.gate.part, 0);
  EXPECT_EQ(experts.down.part, 2);
  EXPECT_EQ(experts.down.offset, 0);
  EXPECT_EQ(experts.down.bytes(), 256 * 256 * 4);
  EXPECT_EQ(graph->experts.num_experts(), 4);
}

TEST(BindModelTest, NamesATensorThatIsMissing) {
  for (const std::string name : {"blk.1.attn_v.weight", "blk.0.ffn_norm.weight",
                                 "output_norm.weight", "token_embd.weight"}) {
    ExpectRefused(Changed(name, [](RandomModel::Tensor& tensor) { tensor.name = "other"; }),
                  "tensor_missing", name);
  }
}

TEST(BindModelTest, NamesATensorOfAnotherShapeAndBothShapes) {
  const RandomModel model = Changed("blk.1.attn_k.weight", [](RandomModel::Tensor& tensor) {
    tensor.dims = {256, 32};
  });
  ExpectRefused(model, "tensor_shape", "blk.1.attn_k.weight is [256, 32], expected [256, 64]");
}

TEST(BindModelTest, NamesATypeThatNoProductTakes) {
  const RandomModel model = Changed("blk.0.attn_q.weight", [](RandomModel::Tensor& tensor) {
    tensor.type = BlockType::kI32;
    tensor.bytes.assign(256 * 128 * 4, '\0');
  });
  ExpectRefused(model, "unsupported_type", "blk.0.attn_q.weight is I32");
}

TEST(BindModelTest, ListsTheFamiliesThatCanBeRun) {
  for (const std::string architecture : {"gpt9", "mimo2"}) {
    const absl::Status status = Bind({.architecture = architecture});
    EXPECT_EQ(ErrorKind(status), "unsupported_arch") << status;
    EXPECT_THAT(status.message(), AllOf(HasSubstr(architecture), HasSubstr("glm4moe, gpt-oss, "),
                                        HasSubstr("qwen3moe, qwen3next")));
  }
}

TEST(BindModelTest, RefusesKeysThatAskForWhatNoPartComputes) {
  for (const std::string key : {"attention.indexer.top_k", "hyper_connection.count",
                                "hash_layer_count", "embedding_length_per_layer_input"}) {
    ExpectRefused({.numbers = {{key, 8}}}, "hparams", "qwen3moe." + key);
  }
  ExpectRefused({.architecture = "gpt-oss"}, "hparams", "gpt-oss.attention.sliding_window");
}

TEST(BindModelTest, RefusesNumbersThatCannotBe) {
  ExpectRefused({.numbers = {{"rope.dimension_count", 66}}}, "hparams", "heads have 64 values");
  ExpectRefused({.numbers = {{"attention.key_length", 1u << 30}}}, "hparams", "1073741824");
  ExpectRefused({.numbers = {{"attention.head_count", 3}, {"attention.head_count_kv", 2}}},
                "hparams", "3 heads for 2");
  ExpectRefused({.numbers = {{"expert_group_count", 4}, {"expert_group_used_count", 1}}}, "hparams",
                "expert_used_count is 2");
}

TEST(BindModelTest, NormsOfQueriesAndKeysAreRequiredWhereTheFamilyHasThem) {
  for (const std::string name : {"blk.0.attn_q_norm.weight", "blk.1.attn_k_norm.weight"}) {
    ExpectRefused(Changed(name, [](RandomModel::Tensor& tensor) { tensor.name = "other"; }),
                  "tensor_missing", name);
  }
}

ModelGraph BindOk(const RandomModel& model) {
  static std::vector<std::unique_ptr<GgufFile>> files;
  absl::StatusOr<std::unique_ptr<GgufFile>> file = GgufFile::Open(model.Write("model"));
  EXPECT_TRUE(file.ok()) << file.status();
  files.push_back(*std::move(file));
  absl::StatusOr<ModelGraph> graph = BindModel(*files.back());
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : ModelGraph();
}

void AddVector(const std::string& name, int64_t size, Tensors& tensors) {
  tensors.push_back({name, BlockType::kF32, {size}, ""});
}

TEST(BindModelTest, RemarksThatAFileHasNoNormsOfQueriesAndKeysAtAll) {
  RandomModel model;
  model.edit = [](Tensors& tensors) {
    std::erase_if(tensors, [](const RandomModel::Tensor& tensor) {
      return absl::StrContains(tensor.name, "attn_q_norm") ||
             absl::StrContains(tensor.name, "attn_k_norm");
    });
  };
  EXPECT_THAT(BindOk(model).remarks, ElementsAre(HasSubstr("no norms of queries and keys")));
}

TEST(BindModelTest, NamesTensorsThatNothingUses) {
  EXPECT_THAT(BindOk({}).remarks, IsEmpty());
  const ModelGraph graph = BindOk({.edit = [](Tensors& tensors) {
    AddVector("blk.1.attn_norm_2.weight", 256, tensors);
    AddVector("blk.0.ffn_down_exps.input_scale", 4, tensors);  // No weight.
  }});
  EXPECT_THAT(graph.remarks, ElementsAre(HasSubstr("uses blk.1.attn_norm_2.weight;")));
}

TEST(BindModelTest, ACountOfSharedExpertsMeansNothingWhereAFamilyHasNone) {
  const ModelGraph graph = BindOk({.numbers = {{"expert_shared_count", 1}}});
  EXPECT_FALSE(std::get<MixtureOfExperts>(graph.layers[0].feed_forward).shared.has_value());
  ExpectRefused({.architecture = "granitemoe", .numbers = {{"expert_shared_count", 1}}},
                "tensor_missing", "blk.0.ffn_gate_shexp.weight");
}

TEST(BindModelTest, LayersWithAWindowMayTurnOtherwise) {
  const std::map<std::string, uint32_t> window = {{"attention.sliding_window", 20}};
  const ModelGraph same = BindOk({.architecture = "mellum", .numbers = window});
  EXPECT_EQ(same.rotations.size(), 1u);
  std::map<std::string, uint32_t> numbers = window;
  numbers["rope.dimension_count_swa"] = 32;
  const ModelGraph graph = BindOk({.architecture = "mellum", .num_layers = 4, .numbers = numbers});
  ASSERT_EQ(graph.rotations.size(), 2u);
  for (int layer = 0; layer < 4; ++layer) {
    const auto& attention = std::get<SelfAttention>(graph.layers[layer].mixer);
    EXPECT_EQ(attention.window, layer < 3 ? 20 : 0);
    EXPECT_EQ(graph.rotations[attention.rotation].angles.num_dims, layer < 3 ? 32 : 64);
  }
  numbers["rope.dimension_count_swa"] = 66;
  ExpectRefused({.architecture = "mellum", .numbers = numbers}, "hparams", "is 66");
}

TEST(BindModelTest, ANextTokenBlockThatIsNotThereIsNoFault) {
  const RandomModel model = {.num_layers = 3, .numbers = {{"nextn_predict_layers", 1}}};
  const absl::StatusOr<std::unique_ptr<GgufFile>> file = GgufFile::Open(model.Write("model"));
  ASSERT_TRUE(file.ok()) << file.status();
  const absl::StatusOr<ModelGraph> graph = BindModel(**file);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->layers.size(), 2);
}

TEST(BindModelTest, ANextTokenBlockHasAttentionWhateverTheIntervalSays) {
  const OpenModel model("testdata/oracles/arch/qwen35moe.gguf");
  EXPECT_EQ(model.graph.layers.size(), 3u);
  ASSERT_EQ(model.graph.next_token_blocks.size(), 1u);
  const NextTokenBlock& block = model.graph.next_token_blocks[0];
  EXPECT_TRUE(std::get<SelfAttention>(block.layer.mixer).has_gate);
  const auto& experts = std::get<MixtureOfExperts>(block.layer.feed_forward);
  EXPECT_EQ(experts.gate.name, "blk.3.ffn_gate_exps.weight");
  // Profiles and slots are of the model's own experts.
  EXPECT_THAT(model.graph.experts.layers(), ElementsAre(0, 1, 2));
  EXPECT_THAT(model.graph.experts.nextn_layers(), ElementsAre(3));
  EXPECT_THAT(model.graph.remarks, IsEmpty());
}

TEST(BindModelTest, BindsDeltaNetsInTheOrderOfTheirHeads) {
  const OpenModel grouped("testdata/oracles/arch/qwen3next.gguf");
  const auto& net = std::get<GatedDeltaNet>(grouped.graph.layers[0].mixer);
  EXPECT_THAT(net.key_head_of, ElementsAre(0, 0, 1, 1));
  // Behind 256 channels and 128 gates: betas and alphas of each key head.
  EXPECT_THAT(net.beta_at, ElementsAre(384, 385, 388, 389));
  EXPECT_THAT(net.alpha_at, ElementsAre(386, 387, 390, 391));
  const OpenModel tiled("testdata/oracles/arch/qwen35moe.gguf");
  const auto& other = std::get<GatedDeltaNet>(tiled.graph.layers[0].mixer);
  EXPECT_THAT(other.key_head_of, ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(other.alpha_at, ElementsAre(388, 389, 390, 391));
  EXPECT_TRUE(std::holds_alternative<SelfAttention>(tiled.graph.layers[1].mixer));
}

TEST(BindModelTest, RefusesDeltaNetsThatCannotBe) {
  ExpectRefused(RandomDeltaNet({.numbers = {{"ssm.inner_size", 100}}}), "hparams",
                "inner_size 100");
  ExpectRefused(RandomDeltaNet({.numbers = {{"ssm.group_count", 3}}}), "hparams",
                "group_count is 3");
  ExpectRefused(RandomDeltaNet({.numbers = {{"ssm.conv_kernel", 99}}}), "hparams", "99 taps");
  ExpectRefused(RandomDeltaNet({.numbers = {{"attention.value_length", 32}}}), "hparams",
                "gates of 64 values");
  ExpectRefused(RandomDeltaNet({.edit =
                                    [](Tensors& tensors) {
                                      for (RandomModel::Tensor& tensor : tensors) {
                                        if (tensor.name == "blk.0.ssm_a") tensor.name = "other";
                                      }
                                    }}),
                "tensor_missing", "blk.0.ssm_a");
}

// With a block after the trunk that `edit` may change.
RandomModel WithNextTokenBlock(const std::function<void(Tensors&)>& edit) {
  return {.num_layers = 3, .numbers = {{"nextn_predict_layers", 1}}, .edit = [=](Tensors& tensors) {
            tensors.push_back({"blk.2.nextn.eh_proj.weight", BlockType::kF32, {512, 256}, ""});
            AddVector("blk.2.nextn.enorm.weight", 256, tensors);
            AddVector("blk.2.nextn.hnorm.weight", 256, tensors);
            if (edit) edit(tensors);
          }};
}

TEST(BindModelTest, BindsNextTokenBlocksApartFromTheTrunk) {
  const ModelGraph graph = BindOk(WithNextTokenBlock({}));
  EXPECT_EQ(graph.layers.size(), 2u);
  EXPECT_THAT(graph.experts.layers(), ElementsAre(0, 1));
  EXPECT_THAT(graph.experts.nextn_layers(), ElementsAre(2));
  EXPECT_THAT(graph.remarks, IsEmpty());
  ASSERT_EQ(graph.next_token_blocks.size(), 1u);
  const NextTokenBlock& block = graph.next_token_blocks[0];
  EXPECT_EQ(block.join.weights.columns, 512);
  EXPECT_EQ(block.hidden_norm.size(), 256u);
  EXPECT_FALSE(block.output.has_value());
  EXPECT_EQ(std::get<SelfAttention>(block.layer.mixer).query.name, "blk.2.attn_q.weight");
  EXPECT_EQ(std::get<MixtureOfExperts>(block.layer.feed_forward).routing.num_experts, 4);
}

TEST(BindModelTest, ANextTokenBlockThatIsNotWholeIsLeftOutAndNamed) {
  const ModelGraph graph = BindOk(WithNextTokenBlock([](Tensors& tensors) {
    for (RandomModel::Tensor& tensor : tensors) {
      if (tensor.name == "blk.2.attn_v.weight") tensor.name = "blk.2.other.weight";
    }
  }));
  EXPECT_EQ(graph.layers.size(), 2u);
  EXPECT_THAT(graph.next_token_blocks, IsEmpty());
  EXPECT_THAT(graph.remarks,
              ElementsAre(AllOf(HasSubstr("block 2"), HasSubstr("blk.2.attn_v.weight"))));
}

std::string BytesOfOracle(const std::string& name) {
  std::ifstream in("testdata/oracles/arch/" + name + ".gguf", std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

absl::StatusOr<ModelGraph> BindBytes(const std::string& bytes) {
  static std::vector<std::unique_ptr<GgufFile>> files;
  const std::string path = absl::StrCat(testing::TempDir(), "/changed", files.size(), ".gguf");
  std::ofstream(path, std::ios::binary) << bytes;
  absl::StatusOr<std::unique_ptr<GgufFile>> file = GgufFile::Open(path);
  if (!file.ok()) return file.status();
  files.push_back(*std::move(file));
  return BindModel(*files.back());
}

// The oracle's file with another name, of the same length, for one of its tensors.
absl::Status BindWithout(const std::string& oracle, const std::string& tensor) {
  std::string bytes = BytesOfOracle(oracle);
  const size_t at = bytes.find(tensor);
  EXPECT_NE(at, std::string::npos) << tensor;
  bytes[at + tensor.size() - 1] = '_';
  return BindBytes(bytes).status();
}

// The oracle's file with a key more, and one of such a length that its tensors stay aligned.
absl::StatusOr<ModelGraph> BindWith(const std::string& oracle, const std::string& key,
                                    float value) {
  GgufBytes record;
  record.String(key).Type(GgufType::kF32).Number(value);
  const size_t filler = 31 - (record.bytes().size() + 13) % 32;
  record.String(std::string(filler + 1, 'x')).Type(GgufType::kU8).Number(uint8_t{0});
  EXPECT_EQ(record.bytes().size() % 32, 0u);
  std::string bytes = BytesOfOracle(oracle);
  bytes[16] = static_cast<char>(bytes[16] + 2);  // The number of keys.
  return BindBytes(bytes.insert(24, record.bytes()));
}

TEST(BindModelTest, WindowsOfGptOssMayTurnWithABaseOfTheirOwn) {
  const absl::StatusOr<ModelGraph> graph = BindWith("gpt-oss", "gpt-oss.rope.freq_base_swa", 500);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const OpenModel plain("testdata/oracles/arch/gpt-oss.gguf");
  ASSERT_EQ(plain.graph.rotations.size(), 1u);
  ASSERT_EQ(graph->rotations.size(), 2u);
  for (const Layer& layer : graph->layers) {
    const auto& attention = std::get<SelfAttention>(layer.mixer);
    EXPECT_EQ(graph->rotations[attention.rotation].angles.base,
              attention.window > 0 ? 500 : plain.graph.rotations[0].angles.base);
  }
}

TEST(BindModelTest, ADensePartBesideExpertsHasNormsOfItsOwn) {
  const OpenModel model("testdata/oracles/arch/gemma4.gguf");
  const Layer& layer = model.graph.layers[1];
  const auto& attention = std::get<SelfAttention>(layer.mixer);
  EXPECT_TRUE(attention.values_are_keys);
  EXPECT_EQ(attention.window, 0);
  EXPECT_EQ(attention.key_size, 32);
  EXPECT_FALSE(std::get<SelfAttention>(model.graph.layers[0].mixer).values_are_keys);
  const MixtureOfExperts& experts = *ExpertsOf(layer);
  EXPECT_EQ(experts.shared->gate.name, "blk.1.ffn_gate.weight");
  EXPECT_THAT(layer.feed_forward_residual.norm_before, IsEmpty());
  EXPECT_EQ(experts.norms->shared_before.size(), 64u);
  EXPECT_EQ(experts.down.scales.size(), 8u);
  EXPECT_EQ(experts.activation, GatedActivation::kGelu);
  EXPECT_NE(layer.feed_forward_residual.state_scale, 1.0f);
}

TEST(BindModelTest, NamesWhatAFileWithADensePartBesideExpertsHasLost) {
  for (const std::string tensor :
       {"blk.0.attn_v.weight", "blk.3.post_attention_norm.weight", "blk.1.post_ffw_norm.weight",
        "blk.1.post_ffw_norm_1.weight", "blk.2.pre_ffw_norm_2.weight", "blk.4.ffn_gate_inp.scale",
        "blk.1.ffn_down_exps.scale", "blk.2.layer_output_scale.weight", "blk.0.ffn_up.weight"}) {
    const absl::Status status = BindWithout("gemma4", tensor);
    EXPECT_EQ(ErrorKind(status), "tensor_missing") << tensor << ": " << status;
    EXPECT_THAT(status.message(), HasSubstr(tensor));
  }
  ExpectRefused({.architecture = "gemma4",
                 .numbers = {{"attention.sliding_window", 8}, {"attention.shared_kv_layers", 2}}},
                "hparams", "gemma4.attention.shared_kv_layers");
}

RandomModel StreamsWithout(const std::string& name) {
  return RandomStreams({.edit = [name](std::vector<RandomModel::Tensor>& tensors) {
    for (RandomModel::Tensor& tensor : tensors) {
      if (tensor.name == name) tensor.name = "other";
    }
  }});
}

TEST(BindModelTest, StreamsHaveMixersInPlaceOfNorms) {
  const ModelGraph graph = BindOk(RandomStreams());
  EXPECT_EQ(graph.num_streams, 3);
  EXPECT_THAT(graph.output_norm, IsEmpty());
  EXPECT_FALSE(graph.output_mixer->inject.has_value());
  const Residual& residual = graph.layers[1].mixer_residual;
  EXPECT_THAT(residual.norm_before, IsEmpty());
  EXPECT_EQ(residual.streams->inject->weights.rows, 3);
  EXPECT_EQ(residual.streams->down.scale, 1.0f / 3);
  const auto& attention = std::get<SelfAttention>(graph.layers[1].mixer);
  EXPECT_EQ(attention.indexer->num_kept, 4);
  EXPECT_EQ(graph.ngrams->heads.size(), 4u);
  EXPECT_EQ(graph.ngrams->convolution.dilation, 3);
  EXPECT_EQ(std::get<GatedDeltaNet>(graph.layers[0].mixer).gate_activation,
            GatedActivation::kSigmoid);
}

TEST(BindModelTest, NamesWhatAFileWithStreamsHasLost) {
  for (const std::string name :
       {"blk.0.hc_attn_norm.weight", "blk.1.hc_ffn_down.weight", "blk.1.hc_attn_up.weight",
        "blk.0.hc_ffn_inject.weight", "output_hc_up.weight", "blk.1.indexer.q_norm.weight",
        "blk.1.indexer.k_proj.weight", "blk.0.ple_norm_conv.weight", "blk.0.ple_conv1d.weight"}) {
    ExpectRefused(StreamsWithout(name), "tensor_missing", name);
  }
  ExpectRefused(StreamsWithout("per_layer_token_embd.weight"), "tensor_missing",
                "MODEL.gguf,TABLE.gguf");
}

TEST(BindModelTest, RefusesNumbersOfStreamsBlocksAndTablesThatCannotBe) {
  const auto with = [](const char* key, uint32_t value) {
    return RandomStreams({.numbers = {{key, value}}});
  };
  ExpectRefused(with("hyper_connection.count", 1), "hparams", "hyper_connection.count");
  ExpectRefused(with("attention.indexer.top_k", 18), "hparams", "top_k 18");
  ExpectRefused(with("attention.indexer.key_length", 32), "hparams", "key_length 32");
  ExpectRefused(with("ple.ngram_size", 4), "hparams", "ngram_size");
  ExpectRefused(with("embedding_length_per_layer_input", 32), "hparams", "256 values");
  const auto with_array = [](const char* key, const std::vector<uint64_t>& values) {
    return RandomStreams({.arrays = {{key, values}}});
  };
  ExpectRefused(with_array("attention.compress_ratios", {0, 3}), "hparams", "compress_ratios is 3");
  ExpectRefused(with_array("attention.compress_ratios", {0}), "hparams", "1 elements");
  ExpectRefused(with_array("ple.layers", {2}), "hparams", "ple.layers");
  ExpectRefused(with_array("ple.head_vocab_sizes", {97, 101, 103, 116}), "hparams",
                "116 rows from 301 on");
  ExpectRefused(with_array("ple.head_offsets", {0, 97, 198, ~uint64_t{0}}), "hparams",
                "head_offsets");
}

}  // namespace
}  // namespace strata
