#include "strata/generate/chat/jinja/symbols.h"

#include <utility>

namespace strata::jinja {

void Symbols::Define(const std::string& name, ScopeEntry entry) {
  indices_->try_emplace(name, static_cast<int>(indices_->size()));
  entries_[name] = std::move(entry);
}

absl::optional<VariablePlace> Symbols::Find(const std::string& name) const {
  int hops = 0;
  for (const Symbols* scope = this; scope != nullptr; scope = scope->parent_, ++hops) {
    if (scope->entries_.count(name) != 0) return VariablePlace{hops, scope->indices_->at(name)};
  }
  return absl::nullopt;
}

ScopeEntry Symbols::OuterOr(const std::string& name, ScopeEntry otherwise) const {
  if (parent_ == nullptr) return otherwise;
  const absl::optional<VariablePlace> outer = parent_->Find(name);
  if (!outer.has_value()) return otherwise;
  return {ScopeEntry::Kind::kAlias, "", {outer->hops + 1, outer->index}};
}

void Symbols::Load(const std::string& name) {
  if (!Find(name).has_value()) Define(name, {ScopeEntry::Kind::kResolve, name});
}

void Symbols::Store(const std::string& name) {
  stores_.insert(name);
  if (entries_.count(name) != 0) return;
  Define(name, OuterOr(name, {ScopeEntry::Kind::kMissing}));
}

void Symbols::DeclareParameter(const std::string& name) {
  stores_.insert(name);
  Define(name, {ScopeEntry::Kind::kParameter});
}

void Symbols::Merge(absl::Span<const Symbols> branches) {
  std::map<std::string, size_t> num_stores;
  for (const Symbols& branch : branches) {
    for (const std::string& name : branch.stores_) {
      if (stores_.count(name) == 0) ++num_stores[name];
    }
  }
  for (const Symbols& branch : branches) {
    for (const auto& [name, entry] : branch.entries_) entries_[name] = entry;
    stores_.insert(branch.stores_.begin(), branch.stores_.end());
  }
  // Where a branch does not set it, it may come from outside.
  for (const auto& [name, count] : num_stores) {
    if (count == branches.size()) continue;
    entries_[name] = OuterOr(name, {ScopeEntry::Kind::kResolve, name});
  }
}

Scope Symbols::MakeScope() const {
  Scope scope;
  scope.entries.resize(indices_->size());
  for (const auto& [name, entry] : entries_) {
    scope.entries[static_cast<size_t>(indices_->at(name))] = entry;
  }
  return scope;
}

}  // namespace strata::jinja
