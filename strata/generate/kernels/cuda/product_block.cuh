// What the threads of a product kernel's block share: shared memory, the routing of the step by
// expert, and which weights a step of the block's work is about.
#ifndef STRATA_GENERATE_KERNELS_CUDA_PRODUCT_BLOCK_CUH_
#define STRATA_GENERATE_KERNELS_CUDA_PRODUCT_BLOCK_CUH_

#include <cstdint>

#include "strata/generate/kernels/cuda/device_experts.h"
#include "strata/generate/kernels/cuda/product_parameters.h"

namespace strata {

extern __shared__ __align__(128) uint8_t shared_memory[];

template <typename T>
__device__ __forceinline__ T* Shared(int offset) {
  return reinterpret_cast<T*>(shared_memory + offset);
}

// Of an entry of the routing; below num_experts whatever the memory holds.
__device__ __forceinline__ int ChoiceOf(const DeviceRouting& routing, int entry) {
  const auto choice = static_cast<unsigned>(__ldcg(routing.experts + entry));
  return static_cast<int>(min(choice, static_cast<unsigned>(routing.num_experts - 1)));
}

// Where a matrix of an expert begins.
__device__ __forceinline__ uint64_t AddressOf(const DeviceExpert& entry,
                                              const MatrixOutput& matrix) {
  return __ldcg(reinterpret_cast<const unsigned long long*>(&entry.parts[matrix.part])) +
         matrix.offset;
}

// What a block computes between two loads: a tile, or the experts of a tile from first_expert on
// that fit in shared memory together. All threads know the same.
struct ProductStep {
  int tile = 0;
  int output = 0;        // kDense
  int first_row = 0;     // Of the matrices.
  int first_expert = 0;  // Number in the block's list.
  int num_experts = 1;
  int first_slot = 0;
  int num_slots = 0;   // Of all its experts.
  int most_slots = 0;  // Of any one of them.
  int parity = 0;
};

// The step's choices sorted by expert. A slot is an entry's number in that order; without experts
// all rows are the slots of one.
class SlotLists {
 public:
  __device__ explicit SlotLists(const ProductParameters& p) : p_(p) {}

  // Fills the lists; ends with a barrier. Returns the number of distinct experts.
  __device__ int Fill() const {
    if (p_.routing.experts == nullptr) return FillWithRows();
    return p_.rows == 1 ? FillWithOneRow() : FillSorted();
  }

  __device__ int first_slot(int expert) const { return Shared<int>(p_.shared.first_slots)[expert]; }
  __device__ int num_slots(int expert) const { return first_slot(expert + 1) - first_slot(expert); }
  // An index of the layer's experts.
  __device__ int index(int expert) const { return Shared<int>(p_.shared.experts)[expert]; }
  __device__ int entry(int slot) const { return Shared<int>(p_.shared.entries)[slot]; }
  __device__ int row_of_entry(int entry) const {
    return p_.routing.experts == nullptr ? entry : entry / p_.routing.num_chosen;
  }
  // Of gate and up, or of down.
  __device__ uint64_t base(int expert, int role) const {
    const int roles = p_.mode == ProductMode::kGated ? 2 : 1;
    return Shared<uint64_t>(p_.shared.bases)[expert * roles + role];
  }

 private:
  __device__ int FillWithRows() const {
    if (threadIdx.x <= 1) {
      Shared<int>(p_.shared.first_slots)[threadIdx.x] = threadIdx.x == 0 ? 0 : p_.rows;
    }
    if (threadIdx.x == 0) {
      Shared<int>(p_.shared.experts)[0] = 0;
      if (p_.mode == ProductMode::kGated) {
        Shared<uint64_t>(p_.shared.bases)[0] = reinterpret_cast<uint64_t>(p_.gated.gate.data);
        Shared<uint64_t>(p_.shared.bases)[1] = reinterpret_cast<uint64_t>(p_.gated.up.data);
      }
    }
    for (int i = threadIdx.x; i < p_.rows; i += blockDim.x) {
      Shared<int>(p_.shared.entries)[i] = i;
    }
    __syncthreads();
    return 1;
  }

  // The experts of a row differ.
  __device__ int FillWithOneRow() const {
    const int count = p_.routing.num_chosen;
    const int i = threadIdx.x;
    if (i < count) {
      Shared<int>(p_.shared.entries)[i] = i;
      SetExpert(i, i, ChoiceOf(p_.routing, i));
      FillWeight(i);
    }
    if (i <= count) Shared<int>(p_.shared.first_slots)[i] = i;
    __syncthreads();
    return count;
  }

  __device__ int FillSorted() const {
    const int count = p_.rows * p_.routing.num_chosen;
    int* const choices = Shared<int>(p_.shared.choices);
    int* const entries = Shared<int>(p_.shared.entries);
    for (int e = threadIdx.x; e < count; e += blockDim.x) {
      choices[e] = ChoiceOf(p_.routing, e);
      FillWeight(e);
    }
    __syncthreads();
    for (int e = threadIdx.x; e < count; e += blockDim.x) {
      const int own = choices[e];
      int slot = 0;
      for (int other = 0; other < count; ++other) {
        const int choice = choices[other];
        slot += choice < own || (choice == own && other < e) ? 1 : 0;
      }
      entries[slot] = e;
    }
    __syncthreads();
    const int num_experts = MarkFirstSlots(count);
    for (int expert = threadIdx.x; expert < num_experts; expert += blockDim.x) {
      const int slot = first_slot(expert);
      SetExpert(expert, slot, choices[entries[slot]]);
    }
    __syncthreads();
    return num_experts;
  }

  // The first slot of each expert, and the number of slots behind the last. Every warp counts, one
  // writes.
  __device__ int MarkFirstSlots(int count) const {
    const int* const choices = Shared<int>(p_.shared.choices);
    const int* const entries = Shared<int>(p_.shared.entries);
    int* const first_slots = Shared<int>(p_.shared.first_slots);
    const int lane = threadIdx.x % 32;
    int num_experts = 0;
    for (int begin = 0; begin < count; begin += 32) {
      const int slot = begin + lane;
      const bool is_first =
          slot < count && (slot == 0 || choices[entries[slot]] != choices[entries[slot - 1]]);
      const unsigned firsts = __ballot_sync(0xffffffffu, is_first);
      if (is_first && threadIdx.x < 32) {
        first_slots[num_experts + __popc(firsts & ((1u << lane) - 1u))] = slot;
      }
      num_experts += __popc(firsts);
    }
    if (threadIdx.x == 0) first_slots[num_experts] = count;
    __syncthreads();
    return num_experts;
  }

  __device__ void FillWeight(int entry) const {
    if (p_.mode != ProductMode::kSum) return;
    Shared<float>(p_.shared.routing)[entry] = p_.routing.weights[entry];
  }

  __device__ void SetExpert(int expert, int /*slot*/, int index) const {
    Shared<int>(p_.shared.experts)[expert] = index;
    uint64_t* const bases = Shared<uint64_t>(p_.shared.bases);
    const DeviceExpert& entry = p_.experts[index];
    if (p_.mode == ProductMode::kGated) {
      bases[2 * expert] = AddressOf(entry, p_.gated.gate);
      bases[2 * expert + 1] = AddressOf(entry, p_.gated.up);
    } else {
      bases[expert] = AddressOf(entry, p_.sum.down);
    }
  }

  const ProductParameters& p_;
};

// The steps of a block, one after the other.
class ProductSteps {
 public:
  __device__ ProductSteps(const ProductParameters& p, const SlotLists& lists)
      : p_(p), lists_(lists) {}

  // The first of the block's steps as far as its weights go; for kernels without experts, before
  // the lists are there.
  __device__ ProductStep First() const { return OfTile(blockIdx.x, 0); }

  // Slots and experts of a step, from the lists.
  __device__ void Complete(int num_experts, ProductStep& step) const {
    step.first_slot = lists_.first_slot(step.first_expert);
    if (p_.mode != ProductMode::kSum) {
      step.num_slots = step.most_slots = lists_.num_slots(step.first_expert);
      return;
    }
    step.num_experts = 0;
    step.num_slots = 0;
    step.most_slots = 0;
    while (step.num_experts < p_.segments && step.first_expert + step.num_experts < num_experts) {
      const int slots = lists_.num_slots(step.first_expert + step.num_experts);
      if (step.num_slots + slots > p_.max_slots) break;
      step.num_slots += slots;
      step.most_slots = max(step.most_slots, slots);
      ++step.num_experts;
    }
  }

  __device__ bool IsLastOfTile(int num_experts, const ProductStep& step) const {
    return p_.mode != ProductMode::kSum || step.first_expert + step.num_experts >= num_experts;
  }

  __device__ bool IsThere(int num_experts, const ProductStep& step) const {
    return step.tile < (p_.mode == ProductMode::kGated ? p_.tiles * num_experts : p_.tiles);
  }

  __device__ ProductStep Next(int num_experts, const ProductStep& step) const {
    if (IsLastOfTile(num_experts, step)) {
      return OfTile(step.tile + gridDim.x, step.parity ^ 1);
    }
    ProductStep next = step;
    next.first_expert += step.num_experts;
    next.parity ^= 1;
    return next;
  }

 private:
  __device__ ProductStep OfTile(int tile, int parity) const {
    ProductStep step;
    step.tile = tile;
    step.parity = parity;
    int first_tile = 0;
    if (p_.mode == ProductMode::kDense) {
      while (step.output + 1 < p_.num_outputs && tile >= p_.outputs[step.output + 1].first_tile) {
        ++step.output;
      }
      first_tile = p_.outputs[step.output].first_tile;
    } else if (p_.mode == ProductMode::kGated) {
      step.first_expert = tile / p_.tiles;
      first_tile = step.first_expert * p_.tiles;
    }
    step.first_row = (tile - first_tile) << p_.log_tile_rows;
    return step;
  }

  const ProductParameters& p_;
  const SlotLists& lists_;
};

// Matrix and row of one of the rows that a step has in shared memory.
struct RowOfStep {
  const MatrixOutput* matrix;
  int row;
  int expert;   // Number in the lists.
  int segment;  // kGated: 0 gate, 1 up.
  bool is_there;
};

__device__ __forceinline__ RowOfStep FindRow(const ProductParameters& p, const ProductStep& step,
                                             int i) {
  RowOfStep found;
  found.segment = i >> p.log_tile_rows;
  found.row = step.first_row + (i & ((1 << p.log_tile_rows) - 1));
  found.expert = step.first_expert;
  found.is_there = true;
  if (p.mode == ProductMode::kDense) {
    found.matrix = &p.outputs[step.output].matrix;
  } else if (p.mode == ProductMode::kGated) {
    found.matrix = found.segment == 0 ? &p.gated.gate : &p.gated.up;
  } else {
    found.matrix = &p.sum.down;
    found.expert += found.segment;
    found.is_there = found.segment < step.num_experts;
  }
  found.is_there = found.is_there && found.row < found.matrix->rows;
  return found;
}

}  // namespace strata

#endif  // STRATA_GENERATE_KERNELS_CUDA_PRODUCT_BLOCK_CUH_
