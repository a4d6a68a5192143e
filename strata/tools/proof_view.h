// What pack_verify found, as text and as JSON: the same facts.
#ifndef STRATA_TOOLS_PROOF_VIEW_H_
#define STRATA_TOOLS_PROOF_VIEW_H_

#include <string>
#include <vector>

#include "strata/cache/experts/expert_files.h"
#include "strata/cache/pack/fill_proof.h"
#include "strata/cache/pack/pack_manifest.h"
#include "strata/cache/pack/pack_verifier.h"
#include "strata/core/cli/json_output.h"

namespace strata {

// One reading back of all slots.
struct ProofPass {
  std::string name;  // "fill", "lend 16", "swaps 100".
  FillProof::Verified verified;
};

// Each problem on a line of its own, then what was checked and what was not.
std::string ReportText(const PackManifest& manifest, const PackReport& report);
Json ReportJson(const PackManifest& manifest, const PackReport& report);

// Each wrong part of a slot on a line of its own, then what was read back. `model` are the slices
// in the model's files, to name shards and offsets.
std::string PassText(const ExpertFiles& model, const ProofPass& pass);
Json PassJson(const ExpertFiles& model, const ProofPass& pass);

}  // namespace strata

#endif  // STRATA_TOOLS_PROOF_VIEW_H_
