#include "strata/generate/model/bind_rotation.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "strata/core/gguf/model_config.h"
#include "strata/generate/model/bind_attention.h"
#include "strata/generate/model/model_family.h"
#include "strata/generate/model/model_graph.h"
#include "strata/generate/model/rotary_options.h"
#include "strata/generate/model/tensor_binder.h"

namespace strata {
namespace {

// By what the writer of a file multiplied YaRN's multiplier, where the family does.
constexpr double kStoredMultiplier = 0.1;

YarnRamp RampOf(const ModelConfig& config) {
  const RopeConfig& rope = config.rope;
  return {.original_context = rope.original_context_length > 0 ? rope.original_context_length
                                                               : config.context_length,
          .beta_fast = rope.yarn_beta_fast,
          .beta_slow = rope.yarn_beta_slow};
}

bool Stretches(const RopeConfig& rope) {
  return rope.scaling_type != "none" && rope.scaling_factor != 0;
}

bool CheckRope(const ModelConfig& config, TensorBinder& binder) {
  const RopeConfig& rope = config.rope;
  if (Stretches(rope) && rope.scaling_type != "linear" && rope.scaling_type != "yarn") {
    binder.Refuse("hparams", absl::StrCat("rope.scaling.type is ", rope.scaling_type,
                                          "; none, linear and yarn can be run"));
    return false;
  }
  if (rope.yarn_ext_factor != 1 || rope.yarn_attn_factor != 1) {
    binder.Refuse("hparams", absl::StrCat("rope.scaling.yarn_ext_factor is ", rope.yarn_ext_factor,
                                          " and yarn_attn_factor ", rope.yarn_attn_factor,
                                          "; only 1 can be run"));
    return false;
  }
  return true;
}

// `dims` of so many values of a head turn.
void CheckDims(int64_t dims, int64_t head_size, TensorBinder& binder) {
  if (dims <= head_size && dims % 2 == 0) return;
  binder.Refuse("hparams", absl::StrCat("rope.dimension_count is ", dims, ", heads have ",
                                        head_size, " values"));
}

// Of so many values of a head, turned with this base.
Rotation RotationOf(const ModelConfig& config, const ModelFamily& family, int64_t num_dims,
                    double base, bool stretches) {
  const RopeConfig& rope = config.rope;
  Rotation rotation = {
      .pairing = rope.kind == RopeKind::kNeighbours ? RotaryPairing::kNorm : RotaryPairing::kNeox,
      .angles = {.num_dims = static_cast<int>(num_dims), .base = base}};
  RotaryOptions& options = rotation.angles;
  if (!stretches) {
    options.magnitude = rope.attn_factor;
    return rotation;
  }
  options.magnitude = YarnFactorsOf(config, family).rotation;
  if (!Stretches(rope)) return rotation;
  options.frequency_scale = 1.0 / rope.scaling_factor;
  if (rope.scaling_type == "yarn") options.yarn = RampOf(config);
  return rotation;
}

}  // namespace

YarnFactors YarnFactorsOf(const ModelConfig& config, const ModelFamily& family) {
  const RopeConfig& rope = config.rope;
  YarnFactors factors = {.rotation = rope.attn_factor};
  if (!Stretches(rope) || rope.scaling_type != "yarn") return factors;
  const double factor = rope.scaling_factor;
  if (rope.yarn_log_multiplier == 0) {
    factors.rotation *= YarnMagnitude(factor);
  } else if (family.yarn_scales_scores) {
    factors.scores = YarnMagnitude(factor, rope.yarn_log_multiplier / kStoredMultiplier);
  } else {
    factors.rotation *= YarnMagnitude(factor) / YarnMagnitude(factor, rope.yarn_log_multiplier);
  }
  return factors;
}

Rotations BindRotations(const ModelConfig& config, const ModelFamily& family,
                        TensorBinder& binder) {
  const RopeConfig& rope = config.rope;
  Rotations rotations;
  if (rope.kind == RopeKind::kNone || rope.dimension_count == 0) return rotations;
  if (family.rotates_only_if_finetuned && !rope.finetuned.value_or(true)) return rotations;
  if (!CheckRope(config, binder)) return rotations;
  const HeadSizes heads = HeadSizesOf(config, family, /*has_window=*/false);
  CheckDims(rope.dimension_count, heads.key, binder);
  Rotation full = RotationOf(config, family, rope.dimension_count, rope.freq_base,
                             /*stretches=*/true);
  full.angles.frequency_factors =
      binder.Values("rope_freqs.weight", {rope.dimension_count / 2}, Need::kOptional);
  rotations.all = {full};
  rotations.of_windows = 0;
  if (!family.rotates_windows_only) rotations.of_full_layers = 0;
  const int64_t dims =
      rope.dimension_count_swa > 0 ? rope.dimension_count_swa : rope.dimension_count;
  const double base = rope.freq_base_swa > 0 ? rope.freq_base_swa : rope.freq_base;
  const bool differs = dims != rope.dimension_count || base != rope.freq_base ||
                       (family.stretches_full_layers_only && Stretches(rope));
  if (family.window_period == 0 || !differs) return rotations;
  Rotation windowed =
      RotationOf(config, family, dims, base, /*stretches=*/!family.stretches_full_layers_only);
  if (dims == rope.dimension_count && base == rope.freq_base) {
    windowed.angles.frequency_factors = full.angles.frequency_factors;
  }
  CheckDims(dims, HeadSizesOf(config, family, /*has_window=*/true).key, binder);
  rotations.of_windows = 1;
  rotations.all.push_back(windowed);
  return rotations;
}

}  // namespace strata
