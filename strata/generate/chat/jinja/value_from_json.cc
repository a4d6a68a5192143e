#include "strata/generate/chat/jinja/value_from_json.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "strata/core/status_macros.h"

namespace strata::jinja {
namespace {

using Json = nlohmann::ordered_json;

absl::StatusOr<Value> Convert(const Json& json, bool is_content, int depth) {
  if (depth > kMaxValueDepth) {
    return absl::InvalidArgumentError(
        absl::StrCat("JSON nested more than ", kMaxValueDepth, " deep"));
  }
  switch (json.type()) {
    case Json::value_t::boolean:
      return Value::Bool(json.get<bool>(), is_content);
    case Json::value_t::number_integer:
      return Value::Int(json.get<int64_t>(), is_content);
    case Json::value_t::number_unsigned:
      if (json.get<uint64_t>() > INT64_MAX) {
        return absl::InvalidArgumentError("a number in JSON does not fit into 64 bits");
      }
      return Value::Int(json.get<int64_t>(), is_content);
    case Json::value_t::number_float:
      return Value::Float(json.get<double>(), is_content);
    case Json::value_t::string:
      return Value::String(json.get_ref<const std::string&>(), is_content);
    case Json::value_t::array: {
      std::vector<Value> items;
      for (const Json& item : json) {
        ASSIGN_OR_RETURN(Value value, Convert(item, is_content, depth + 1));
        items.push_back(std::move(value));
      }
      return Value::List(std::move(items), nullptr, is_content);
    }
    case Json::value_t::object: {
      Dict dict;
      for (const auto& [key, item] : json.items()) {
        ASSIGN_OR_RETURN(Value value, Convert(item, is_content, depth + 1));
        dict.Set(Value::String(key, is_content), std::move(value));
      }
      return Value::DictOf(std::move(dict), nullptr, is_content);
    }
    default:
      return Value::None(is_content);
  }
}

}  // namespace

absl::StatusOr<Value> ValueFromJson(const Json& json, bool is_content) {
  return Convert(json, is_content, 1);
}

}  // namespace strata::jinja
