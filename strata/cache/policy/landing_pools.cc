#include "strata/cache/policy/landing_pools.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "glog/logging.h"

namespace strata {

LandingPools::LandingPools(std::vector<int> class_of_layer,
                           absl::Span<const int> size_class_of_layer,
                           absl::Span<const int> slots_of_size_class, double share)
    : class_of_layer_(std::move(class_of_layer)) {
  CHECK_EQ(class_of_layer_.size(), size_class_of_layer.size());
  CHECK(0 <= share && share < 1) << "a share of " << share;
  std::vector<int> layers_of_size(slots_of_size_class.size(), 0);
  for (size_t layer = 0; layer < class_of_layer_.size(); ++layer) {
    const auto landing_class = static_cast<size_t>(class_of_layer_[layer]);
    if (landing_class >= size_class_.size()) {
      size_class_.resize(landing_class + 1, 0);
      num_layers_.resize(landing_class + 1, 0);
    }
    size_class_[landing_class] = size_class_of_layer[layer];
    ++num_layers_[landing_class];
    ++layers_of_size[size_class_of_layer[layer]];
  }
  std::vector<int> slots_left(slots_of_size_class.begin(), slots_of_size_class.end());
  for (size_t i = 0; i < size_class_.size(); ++i) {
    CHECK_GT(num_layers_[i], 0) << "landing class " << i << " has no layers";
    const int size_class = size_class_[i];
    const int num_slots = slots_of_size_class[size_class];
    const double of_class =
        share * num_slots * num_layers_[i] / static_cast<double>(layers_of_size[size_class]);
    int& left = slots_left[size_class];
    // One slot of the size at least is no offer.
    const int most = std::max(0, left - 1);
    const int least = share > 0 ? std::min(1, most) : 0;
    num_offered_.push_back(std::clamp(static_cast<int>(of_class), least, most));
    left -= num_offered_.back();
  }
}

int LandingPools::NumOffered() const {
  return std::accumulate(num_offered_.begin(), num_offered_.end(), 0);
}

int LandingPools::NumOfferedBySize(int size_class) const {
  int num_offered = 0;
  for (size_t i = 0; i < size_class_.size(); ++i) {
    if (size_class_[i] == size_class) num_offered += num_offered_[i];
  }
  return num_offered;
}

int LandingPools::FirstLayerOf(int landing_class) const {
  const auto first = std::find(class_of_layer_.begin(), class_of_layer_.end(), landing_class);
  CHECK(first != class_of_layer_.end()) << "there is no landing class " << landing_class;
  return static_cast<int>(first - class_of_layer_.begin());
}

int LandingPools::NumEarly(int landing_class, int first_layer, int num_offers) const {
  const auto num_early_layers =
      std::count(class_of_layer_.begin(), class_of_layer_.begin() + first_layer, landing_class);
  const int64_t num_layers = num_layers_[landing_class];
  return static_cast<int>((num_offers * num_early_layers + num_layers - 1) / num_layers);
}

}  // namespace strata
