#include "strata/generate/chat/jinja/filters.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "strata/generate/chat/jinja/filter_functions.h"

namespace strata::jinja {
namespace {

using FilterTable = absl::flat_hash_map<absl::string_view, FilterFunction>;

const FilterTable& Filters() {
  static const FilterTable& filters = *new FilterTable{
      {"abs", AbsFilter},
      {"attr", AttrFilter},
      {"batch", BatchFilter},
      {"capitalize", CaseFilter},
      {"center", CenterFilter},
      {"count", LengthFilter},
      {"d", DefaultFilter},
      {"default", DefaultFilter},
      {"dictsort", DictSortFilter},
      {"e", EscapeFilter},
      {"escape", EscapeFilter},
      {"first", FirstFilter},
      {"float", FloatFilter},
      {"forceescape", ForceEscapeFilter},
      {"format", FormatFilter},
      {"groupby", GroupByFilter},
      {"indent", IndentFilter},
      {"int", IntFilter},
      {"items", ItemsFilter},
      {"join", JoinFilter},
      {"last", LastFilter},
      {"length", LengthFilter},
      {"list", ListFilter},
      {"lower", CaseFilter},
      {"map", MapFilter},
      {"max", ExtremeFilter},
      {"min", ExtremeFilter},
      {"reject", SelectFilter},
      {"rejectattr", SelectFilter},
      {"replace", ReplaceFilter},
      {"reverse", ReverseFilter},
      {"round", RoundFilter},
      {"safe", SafeFilter},
      {"select", SelectFilter},
      {"selectattr", SelectFilter},
      {"slice", SliceFilter},
      {"sort", SortFilter},
      {"string", StringFilter},
      {"sum", SumFilter},
      {"title", TitleFilter},
      {"tojson", ToJsonFilter},
      {"trim", TrimFilter},
      {"truncate", TruncateFilter},
      {"unique", UniqueFilter},
      {"upper", CaseFilter},
      {"urlencode", UrlEncodeFilter},
      {"wordcount", WordCountFilter},
  };
  return filters;
}

}  // namespace

bool IsFilter(absl::string_view name) { return Filters().contains(name); }

absl::StatusOr<Value> ApplyFilter(absl::string_view name, const Value& input,
                                  const Arguments& arguments, Budget& budget) {
  if (!budget.Step()) return budget.status();
  const auto found = Filters().find(name);
  if (found == Filters().end()) {
    return absl::InvalidArgumentError(absl::StrCat("there is no filter '", name, "'"));
  }
  if (input.IsString()) budget.HandleBytes(static_cast<int64_t>(input.text().size()));
  absl::StatusOr<Value> result = found->second({name, input, arguments, budget});
  if (!budget.ok()) return budget.status();
  return result;
}

}  // namespace strata::jinja
