// Each filter as a function; filters.h has the table of their names.
#ifndef STRATA_GENERATE_CHAT_JINJA_FILTER_FUNCTIONS_H_
#define STRATA_GENERATE_CHAT_JINJA_FILTER_FUNCTIONS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "strata/generate/chat/jinja/arguments.h"
#include "strata/generate/chat/jinja/budget.h"
#include "strata/generate/chat/jinja/value.h"

namespace strata::jinja {

struct FilterCall {
  absl::string_view name;
  const Value& input;
  const Arguments& arguments;
  Budget& budget;

  absl::StatusOr<std::vector<Value>> Bind(absl::Span<const absl::string_view> parameters,
                                          size_t num_required = 0) const {
    return jinja::Bind(name, arguments, parameters, num_required);
  }
};

using FilterFunction = absl::StatusOr<Value> (*)(const FilterCall&);

// text_filters.cc
absl::StatusOr<Value> CaseFilter(const FilterCall& call);
absl::StatusOr<Value> CenterFilter(const FilterCall& call);
absl::StatusOr<Value> EscapeFilter(const FilterCall& call);
absl::StatusOr<Value> ForceEscapeFilter(const FilterCall& call);
absl::StatusOr<Value> FormatFilter(const FilterCall& call);
absl::StatusOr<Value> IndentFilter(const FilterCall& call);
absl::StatusOr<Value> ReplaceFilter(const FilterCall& call);
absl::StatusOr<Value> SafeFilter(const FilterCall& call);
absl::StatusOr<Value> StringFilter(const FilterCall& call);
absl::StatusOr<Value> TitleFilter(const FilterCall& call);
absl::StatusOr<Value> ToJsonFilter(const FilterCall& call);
absl::StatusOr<Value> TrimFilter(const FilterCall& call);
absl::StatusOr<Value> TruncateFilter(const FilterCall& call);
absl::StatusOr<Value> UrlEncodeFilter(const FilterCall& call);
absl::StatusOr<Value> WordCountFilter(const FilterCall& call);

// number_filters.cc
absl::StatusOr<Value> AbsFilter(const FilterCall& call);
absl::StatusOr<Value> FloatFilter(const FilterCall& call);
absl::StatusOr<Value> IntFilter(const FilterCall& call);
absl::StatusOr<Value> RoundFilter(const FilterCall& call);

// item_filters.cc
absl::StatusOr<Value> AttrFilter(const FilterCall& call);
absl::StatusOr<Value> BatchFilter(const FilterCall& call);
absl::StatusOr<Value> DefaultFilter(const FilterCall& call);
absl::StatusOr<Value> FirstFilter(const FilterCall& call);
absl::StatusOr<Value> ItemsFilter(const FilterCall& call);
absl::StatusOr<Value> JoinFilter(const FilterCall& call);
absl::StatusOr<Value> LastFilter(const FilterCall& call);
absl::StatusOr<Value> LengthFilter(const FilterCall& call);
absl::StatusOr<Value> ListFilter(const FilterCall& call);
absl::StatusOr<Value> ReverseFilter(const FilterCall& call);
absl::StatusOr<Value> SliceFilter(const FilterCall& call);

// attribute_filters.cc: those that look at an attribute of each item.
absl::StatusOr<Value> DictSortFilter(const FilterCall& call);
absl::StatusOr<Value> ExtremeFilter(const FilterCall& call);
absl::StatusOr<Value> GroupByFilter(const FilterCall& call);
absl::StatusOr<Value> MapFilter(const FilterCall& call);
absl::StatusOr<Value> SelectFilter(const FilterCall& call);
absl::StatusOr<Value> SortFilter(const FilterCall& call);
absl::StatusOr<Value> SumFilter(const FilterCall& call);
absl::StatusOr<Value> UniqueFilter(const FilterCall& call);

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_FILTER_FUNCTIONS_H_
