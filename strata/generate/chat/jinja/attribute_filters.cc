#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "strata/core/status_macros.h"
#include "strata/generate/chat/jinja/attribute_path.h"
#include "strata/generate/chat/jinja/compare.h"
#include "strata/generate/chat/jinja/cursor.h"
#include "strata/generate/chat/jinja/filter_functions.h"
#include "strata/generate/chat/jinja/filters.h"
#include "strata/generate/chat/jinja/operators.h"
#include "strata/generate/chat/jinja/tests.h"

namespace strata::jinja {
namespace {

// None is no default to Jinja's filters.
Value DefaultOf(const Value& value) { return value.IsNone() ? Value() : value; }

// What items are compared by.
absl::StatusOr<std::vector<Value>> KeysOf(const std::vector<Value>& items,
                                          const AttributePath& path, bool ignores_case,
                                          Budget& budget, const Value& otherwise = Value()) {
  std::vector<Value> keys;
  keys.reserve(items.size());
  for (const Value& item : items) {
    ASSIGN_OR_RETURN(Value key, path.Get(item, budget, otherwise));
    keys.push_back(ignores_case ? IgnoringCase(key, budget) : std::move(key));
    if (!budget.ok()) return budget.status();
  }
  return keys;
}

}  // namespace

absl::StatusOr<Value> DictSortFilter(const FilterCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound, call.Bind({"case_sensitive", "by", "reverse"}));
  const std::string by = bound[1].IsMissing() ? "key" : bound[1].IsString() ? bound[1].text() : "";
  if (by != "key" && by != "value") {
    return absl::InvalidArgumentError("dictsort sorts by 'key' or 'value'");
  }
  if (!call.input.Is(Value::Kind::kDict)) {
    return absl::InvalidArgumentError(absl::StrCat("dictsort is given a ", TypeName(call.input)));
  }
  std::vector<Value> pairs;
  std::vector<Value> keys;
  for (const auto& [key, value] : call.input.dict().entries()) {
    pairs.push_back(Value::Tuple({key, value}, &call.budget, call.input.is_content()));
    const Value& compared = by == "key" ? key : value;
    keys.push_back(IsTrue(bound[0]) ? compared : IgnoringCase(compared, call.budget));
  }
  ASSIGN_OR_RETURN(std::vector<Value> sorted, SortedBy(pairs, keys, IsTrue(bound[2]), call.budget));
  return Value::List(std::move(sorted), &call.budget);
}

absl::StatusOr<Value> SortFilter(const FilterCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound,
                   call.Bind({"reverse", "case_sensitive", "attribute"}));
  ASSIGN_OR_RETURN(const std::vector<Value> items, ItemsOf(call.input, call.budget));
  // Items are compared by all attributes in turn.
  std::vector<AttributePath> paths;
  if (bound[2].IsString()) {
    for (const absl::string_view name : absl::StrSplit(bound[2].text(), ',')) {
      ASSIGN_OR_RETURN(AttributePath path, AttributePath::Parse(Value::String(name)));
      paths.push_back(std::move(path));
    }
  } else {
    ASSIGN_OR_RETURN(AttributePath path, AttributePath::Parse(bound[2]));
    paths.push_back(std::move(path));
  }
  std::vector<Value> keys;
  for (const Value& item : items) {
    std::vector<Value> key;
    for (const AttributePath& path : paths) {
      ASSIGN_OR_RETURN(const Value part, path.Get(item, call.budget));
      key.push_back(IsTrue(bound[1]) ? part : IgnoringCase(part, call.budget));
    }
    keys.push_back(Value::List(std::move(key), &call.budget));
    if (!call.budget.ok()) return call.budget.status();
  }
  ASSIGN_OR_RETURN(std::vector<Value> sorted, SortedBy(items, keys, IsTrue(bound[0]), call.budget));
  return Value::List(std::move(sorted), &call.budget);
}

absl::StatusOr<Value> UniqueFilter(const FilterCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound, call.Bind({"case_sensitive", "attribute"}));
  ASSIGN_OR_RETURN(const AttributePath path, AttributePath::Parse(bound[1]));
  ASSIGN_OR_RETURN(const std::vector<Value> items, ItemsOf(call.input, call.budget));
  ASSIGN_OR_RETURN(const std::vector<Value> keys,
                   KeysOf(items, path, !IsTrue(bound[0]), call.budget));
  std::vector<Value> unique;
  absl::Status end;
  absl::flat_hash_set<std::string> seen;
  for (size_t i = 0; i < items.size(); ++i) {
    std::string text;
    if (!HashText(keys[i], text)) {
      end = absl::InvalidArgumentError(absl::StrCat(TypeName(keys[i]), " cannot be a key"));
      break;
    }
    if (seen.insert(std::move(text)).second) unique.push_back(items[i]);
  }
  return IteratorOver(std::move(unique), std::move(end), call.budget);
}

absl::StatusOr<Value> ExtremeFilter(const FilterCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound, call.Bind({"case_sensitive", "attribute"}));
  ASSIGN_OR_RETURN(const AttributePath path, AttributePath::Parse(bound[1]));
  ASSIGN_OR_RETURN(const std::vector<Value> items, ItemsOf(call.input, call.budget));
  if (items.empty()) return Value::Undefined("there is no item to choose");
  ASSIGN_OR_RETURN(const std::vector<Value> keys,
                   KeysOf(items, path, !IsTrue(bound[0]), call.budget));
  size_t best = 0;
  for (size_t i = 1; i < items.size(); ++i) {
    const Value& a = call.name == "min" ? keys[i] : keys[best];
    const Value& b = call.name == "min" ? keys[best] : keys[i];
    ASSIGN_OR_RETURN(const bool is_better, IsLess(a, b, call.budget));
    if (is_better) best = i;
  }
  return items[best];
}

absl::StatusOr<Value> SumFilter(const FilterCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound, call.Bind({"attribute", "start"}));
  ASSIGN_OR_RETURN(const AttributePath path, AttributePath::Parse(bound[0]));
  ASSIGN_OR_RETURN(const std::vector<Value> items, ItemsOf(call.input, call.budget));
  Value sum = bound[1].IsMissing() ? Value::Int(0) : bound[1];
  if (sum.IsString()) return absl::InvalidArgumentError("sum: texts are not summed");
  for (const Value& item : items) {
    ASSIGN_OR_RETURN(const Value part, path.Get(item, call.budget));
    ASSIGN_OR_RETURN(sum, Apply(Operator::kAdd, sum, part, call.budget));
    if (!call.budget.ok()) return call.budget.status();
  }
  return sum;
}

absl::StatusOr<Value> GroupByFilter(const FilterCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound,
                   call.Bind({"attribute", "default", "case_sensitive"}, 1));
  ASSIGN_OR_RETURN(const AttributePath path, AttributePath::Parse(bound[0]));
  const Value otherwise = DefaultOf(bound[1]);
  const bool ignores_case = !IsTrue(bound[2]);
  ASSIGN_OR_RETURN(const std::vector<Value> items, ItemsOf(call.input, call.budget));
  ASSIGN_OR_RETURN(const std::vector<Value> keys,
                   KeysOf(items, path, ignores_case, call.budget, otherwise));
  ASSIGN_OR_RETURN(const std::vector<Value> sorted, SortedBy(items, keys, false, call.budget));
  ASSIGN_OR_RETURN(const std::vector<Value> sorted_keys, SortedBy(keys, keys, false, call.budget));
  std::vector<Value> groups;
  for (size_t begin = 0; begin < sorted.size();) {
    size_t end = begin + 1;
    while (end < sorted.size() && AreEqual(sorted_keys[begin], sorted_keys[end], call.budget)) {
      ++end;
    }
    // The group is named by its first item, in that item's own case.
    ASSIGN_OR_RETURN(const Value name, path.Get(sorted[begin], call.budget, otherwise));
    std::vector<Value> members(sorted.begin() + static_cast<ptrdiff_t>(begin),
                               sorted.begin() + static_cast<ptrdiff_t>(end));
    groups.push_back(
        Value::Group(name, Value::List(std::move(members), &call.budget), &call.budget));
    if (!call.budget.ok()) return call.budget.status();
    begin = end;
  }
  return Value::List(std::move(groups), &call.budget);
}

namespace {

// The items that `map`, `select` and their like go through: all that can be had, and then perhaps
// an error. Empty ones are not even looked at.
struct Source {
  std::vector<Value> items;
  absl::Status end;
};

Source SourceOf(const FilterCall& call) {
  if (!IsTrue(call.input)) return {};
  absl::StatusOr<Cursor> cursor = Cursor::Over(call.input, call.budget);
  if (!cursor.ok()) return {{}, cursor.status()};
  Source source;
  while (true) {
    absl::StatusOr<Value> item = cursor->Next();
    if (!item.ok()) return {std::move(source.items), item.status()};
    if (item->IsMissing()) return source;
    source.items.push_back(*std::move(item));
  }
}

// The arguments after the first `num`.
Arguments Rest(const Arguments& arguments, size_t num) {
  Arguments rest = arguments;
  rest.positional.erase(rest.positional.begin(),
                        rest.positional.begin() + static_cast<ptrdiff_t>(num));
  return rest;
}

// map(attribute="name", default=...), which no filter's name precedes.
absl::StatusOr<Value> MapAttribute(const FilterCall& call) {
  ASSIGN_OR_RETURN(const std::vector<Value> bound, call.Bind({"attribute", "default"}, 1));
  ASSIGN_OR_RETURN(const AttributePath path, AttributePath::Parse(bound[0]));
  Source source = SourceOf(call);
  std::vector<Value> mapped;
  for (const Value& item : source.items) {
    absl::StatusOr<Value> value = path.Get(item, call.budget, DefaultOf(bound[1]));
    if (!value.ok()) return IteratorOver(std::move(mapped), value.status(), call.budget);
    mapped.push_back(*std::move(value));
  }
  return IteratorOver(std::move(mapped), std::move(source.end), call.budget);
}

bool HasNamed(const Arguments& arguments, absl::string_view name) {
  return std::any_of(arguments.named.begin(), arguments.named.end(),
                     [&](const auto& argument) { return argument.first == name; });
}

}  // namespace

absl::StatusOr<Value> MapFilter(const FilterCall& call) {
  if (!IsTrue(call.input)) return IteratorOver({}, absl::OkStatus(), call.budget);
  const std::vector<Value>& positional = call.arguments.positional;
  const auto failed = [&](absl::Status status) {
    return IteratorOver({}, std::move(status), call.budget);
  };
  if (positional.empty() && HasNamed(call.arguments, "attribute")) {
    absl::StatusOr<Value> mapped = MapAttribute(call);
    return mapped.ok() ? *mapped : failed(mapped.status());
  }
  if (positional.empty() || !positional[0].IsString()) {
    return failed(absl::InvalidArgumentError("map wants the name of a filter"));
  }
  const std::string name = positional[0].text();
  const Arguments arguments = Rest(call.arguments, 1);
  Source source = SourceOf(call);
  std::vector<Value> mapped;
  for (const Value& item : source.items) {
    absl::StatusOr<Value> value = ApplyFilter(name, item, arguments, call.budget);
    if (!value.ok()) return IteratorOver(std::move(mapped), value.status(), call.budget);
    mapped.push_back(*std::move(value));
  }
  return IteratorOver(std::move(mapped), std::move(source.end), call.budget);
}

absl::StatusOr<Value> SelectFilter(const FilterCall& call) {
  if (!IsTrue(call.input)) return IteratorOver({}, absl::OkStatus(), call.budget);
  const bool by_attribute = absl::EndsWith(call.name, "attr");
  const bool rejects = absl::StartsWith(call.name, "reject");
  const std::vector<Value>& positional = call.arguments.positional;
  const auto failed = [&](std::vector<Value> items, absl::Status status) {
    return IteratorOver(std::move(items), std::move(status), call.budget);
  };
  const size_t num_names = by_attribute ? 1 : 0;
  if (positional.size() < num_names) {
    return failed({}, absl::InvalidArgumentError(absl::StrCat(call.name, " wants a name")));
  }
  absl::StatusOr<AttributePath> path = AttributePath::Parse(by_attribute ? positional[0] : Value());
  if (!path.ok()) return failed({}, path.status());
  const bool has_test = positional.size() > num_names;
  const Value test = has_test ? positional[num_names] : Value();
  const Arguments arguments = has_test ? Rest(call.arguments, num_names + 1) : Arguments();
  Source source = SourceOf(call);
  std::vector<Value> selected;
  for (const Value& item : source.items) {
    absl::StatusOr<Value> value = path->Get(item, call.budget);
    if (!value.ok()) return failed(std::move(selected), value.status());
    absl::StatusOr<bool> fits = IsTrue(*value);
    if (has_test) {
      fits = test.IsString()
                 ? ApplyTest(test.text(), *value, arguments, call.budget)
                 : absl::InvalidArgumentError(absl::StrCat(call.name, " wants a test's name"));
    }
    if (!fits.ok()) return failed(std::move(selected), fits.status());
    if (*fits != rejects) selected.push_back(item);
  }
  return failed(std::move(selected), std::move(source.end));
}

}  // namespace strata::jinja
