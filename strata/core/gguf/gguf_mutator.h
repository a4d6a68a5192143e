// Makes wrong GGUF files out of right ones, knowing where each field and record lies.
//
// Thread-compatible.
#ifndef STRATA_CORE_GGUF_GGUF_MUTATOR_H_
#define STRATA_CORE_GGUF_GGUF_MUTATOR_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace strata {

class GgufMutator {
 public:
  // `file` is a sound GGUF file.
  explicit GgufMutator(std::string file);

  // Bytes of the header, where every byte is a place to cut the file.
  size_t header_bytes() const { return header_bytes_; }
  const std::string& file() const { return file_; }

  // Changes of one field to one edge number, all of them: 0 to num_field_changes() - 1.
  size_t num_field_changes() const { return fields_.size() * kNumEdges; }
  std::string WithFieldChanged(size_t change) const;

  // The file with one to three changes: a field set to a number at some edge (0, 1, neighbours of
  // what it was, powers of two less and more one, the file's size and its neighbours), a byte
  // changed, a record cut out, repeated or swapped with another (the counts following or not), or
  // the end cut off.
  std::string Mutate(std::mt19937_64& random) const;

 private:
  static constexpr size_t kNumEdges = 28;

  struct Span {
    size_t begin = 0;
    size_t bytes = 0;
  };

  void FindFields();
  void AddField(size_t& position, size_t bytes);
  void AddString(size_t& position);
  void AddValue(uint32_t type, size_t& position);
  uint64_t Number(size_t position, size_t bytes) const;
  uint64_t Edge(size_t i, uint64_t was) const;
  void SetField(std::string& file, std::mt19937_64& random) const;
  void ChangeRecords(std::string& file, std::mt19937_64& random) const;

  const std::string file_;
  size_t header_bytes_ = 0;
  std::vector<Span> fields_;   // Numbers of 1, 2, 4 and 8 bytes.
  std::vector<Span> keys_;     // Records.
  std::vector<Span> tensors_;  // Records.
};

}  // namespace strata

#endif  // STRATA_CORE_GGUF_GGUF_MUTATOR_H_
