// What a manifest says of a model before a byte of its weights is read: which bytes there are and
// what they are of. Hashes are left empty.
#ifndef STRATA_CACHE_PACK_PACK_PLAN_H_
#define STRATA_CACHE_PACK_PACK_PLAN_H_

#include "absl/status/status.h"
#include "strata/cache/experts/model_identity.h"
#include "strata/cache/pack/pack_manifest.h"
#include "strata/core/gguf/expert_layout.h"
#include "strata/core/gguf/gguf_file.h"

namespace strata {

// Without tool, model and layout.
PackManifest PlanManifest(const GgufFile& file, const ExpertLayout& layout,
                          const ModelIdentity& identity);

// Kind pack_mismatch, naming the first difference, when the pack is of another model, order of
// shards or quantization than the one that `model` plans. Bytes are not compared, but for routers.
absl::Status CheckIsOf(const PackManifest& pack, const PackManifest& model);

}  // namespace strata

#endif  // STRATA_CACHE_PACK_PACK_PLAN_H_
