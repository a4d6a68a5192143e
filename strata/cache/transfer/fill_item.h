// A blob and its place in device memory.
#ifndef STRATA_CACHE_TRANSFER_FILL_ITEM_H_
#define STRATA_CACHE_TRANSFER_FILL_ITEM_H_

#include <cstddef>

#include "strata/core/gguf/expert_layout.h"

namespace strata {

struct FillItem {
  ExpertId id = {};
  std::byte* destination = nullptr;  // Device memory with room for the expert's BlobBytes.
};

}  // namespace strata

#endif  // STRATA_CACHE_TRANSFER_FILL_ITEM_H_
