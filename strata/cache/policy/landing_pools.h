// How many slots are offered to land in at each step, and to whom: a pool for each landing class,
// the layers whose blobs are laid out alike, shared by all its layers. Pure; the engine, the replay
// of a trace and `gguf_inspect --plan` ask the same object.
//
// Layers run in order, so the first ones would take all the offers of a step. Therefore each step
// has a first layer, the next one at the next step: layers before it may take of a pool only their
// share, rounded up, those from it on whatever is left.
//
// Immutable.
#ifndef STRATA_CACHE_POLICY_LANDING_POOLS_H_
#define STRATA_CACHE_POLICY_LANDING_POOLS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace strata {

class LandingPools {
 public:
  // Of the slots of a size class: more holds fewer residents, less lands fewer misses
  // (docs/cache-size.md).
  static constexpr double kDefaultShare = 0.02;

  // Nothing is offered.
  LandingPools() = default;
  // `class_of_layer` by layer: a number from 0 on, and none without a layer. A landing class lies
  // in one size class; `slots_of_size_class` says how many slots those have. Of these a share is
  // offered, rounded down but at least one where there are two or more, divided among landing
  // classes by layers.
  LandingPools(std::vector<int> class_of_layer, absl::Span<const int> size_class_of_layer,
               absl::Span<const int> slots_of_size_class, double share);

  int num_layers() const { return static_cast<int>(class_of_layer_.size()); }
  int num_classes() const { return static_cast<int>(num_offered_.size()); }
  int ClassOfLayer(int layer) const { return class_of_layer_[layer]; }
  int SizeClassOf(int landing_class) const { return size_class_[landing_class]; }
  int FirstLayerOf(int landing_class) const;
  // Slots that the class offers at each step.
  int num_offered(int landing_class) const { return num_offered_[landing_class]; }
  // Of all classes.
  int NumOffered() const;
  // Of those of a size class.
  int NumOfferedBySize(int size_class) const;

  int FirstLayer(int64_t step) const {
    return num_layers() == 0 ? 0 : static_cast<int>(step % num_layers());
  }
  // Of so many offers, what the class's layers before `first_layer` may take.
  int NumEarly(int landing_class, int first_layer, int num_offers) const;

 private:
  std::vector<int> class_of_layer_;
  // By landing class.
  std::vector<int> size_class_;
  std::vector<int> num_layers_;
  std::vector<int> num_offered_;
};

}  // namespace strata

#endif  // STRATA_CACHE_POLICY_LANDING_POOLS_H_
