// The names of one scope while a template's variables are placed.
#ifndef STRATA_GENERATE_CHAT_JINJA_SYMBOLS_H_
#define STRATA_GENERATE_CHAT_JINJA_SYMBOLS_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "strata/generate/chat/jinja/syntax.h"

namespace strata::jinja {

// Copies are for the branches of an `if`: they share the scope's variables and differ in what is
// known of them.
class Symbols {
 public:
  // `parent` outlives it; null for the template itself.
  explicit Symbols(const Symbols* parent)
      : parent_(parent), indices_(std::make_shared<std::map<std::string, int>>()) {}

  // A name is read, set, or a parameter.
  void Load(const std::string& name);
  void Store(const std::string& name);
  void DeclareParameter(const std::string& name);
  // What is known after an `if` whose branches are `branches`, copies of this.
  void Merge(absl::Span<const Symbols> branches);

  size_t num_names() const { return entries_.size(); }
  absl::optional<VariablePlace> Find(const std::string& name) const;
  Scope MakeScope() const;

 private:
  void Define(const std::string& name, ScopeEntry entry);
  // What a name that is set here starts with.
  ScopeEntry OuterOr(const std::string& name, ScopeEntry otherwise) const;

  const Symbols* parent_;
  std::shared_ptr<std::map<std::string, int>> indices_;
  std::map<std::string, ScopeEntry> entries_;  // Of the names known so far.
  std::set<std::string> stores_;
};

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_SYMBOLS_H_
