// Finds records by name: a hash set of pointers into a table that someone else owns.
#ifndef STRATA_CORE_GGUF_NAME_INDEX_H_
#define STRATA_CORE_GGUF_NAME_INDEX_H_

#include <cstddef>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"

namespace strata {

// `kName` is the member of Record that holds its name. Records must outlive the index and stay
// where they are. Thread-compatible.
template <typename Record, absl::string_view Record::*kName>
class NameIndex {
 public:
  void Reserve(size_t num_records) { records_.reserve(num_records); }
  // False, and nothing is inserted, when another record has that name.
  bool Insert(const Record& record) { return records_.insert(&record).second; }
  // Null when there is none.
  const Record* Find(absl::string_view name) const {
    const auto found = records_.find(name);
    return found == records_.end() ? nullptr : *found;
  }

 private:
  static absl::string_view NameOf(const Record* record) { return record->*kName; }
  static absl::string_view NameOf(absl::string_view name) { return name; }

  struct Hash {
    using is_transparent = void;
    template <typename T>
    size_t operator()(const T& key) const {
      return absl::Hash<absl::string_view>()(NameOf(key));
    }
  };
  struct Equal {
    using is_transparent = void;
    template <typename T, typename U>
    bool operator()(const T& a, const U& b) const {
      return NameOf(a) == NameOf(b);
    }
  };

  absl::flat_hash_set<const Record*, Hash, Equal> records_;
};

}  // namespace strata

#endif  // STRATA_CORE_GGUF_NAME_INDEX_H_
