#include "strata/generate/sampling/chat_sampling.h"

#include <climits>
#include <cmath>
#include <optional>
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "strata/core/gguf/gguf_value.h"

namespace strata {
namespace {

constexpr SamplerOptions kDefault = {.temperature = 0.7f, .top_p = 0.95f, .min_p = 0.05f};

std::optional<double> NumberOf(const GgufValue& value) {
  if (const std::optional<int64_t> integer = value.AsInt()) return static_cast<double>(*integer);
  return value.AsDouble();
}

class Recommendation {
 public:
  explicit Recommendation(const GgufFile& file) : file_(file) {}

  // Puts the key's value into `option`, if there is one from `least` to `most`, and a whole one
  // where the option is.
  template <typename T>
  void Read(absl::string_view name, double least, double most, T& option) {
    const std::string key = absl::StrCat("general.sampling.", name);
    const GgufValue* value = file_.FindKey(key);
    if (value == nullptr) return;
    const std::optional<double> number = NumberOf(*value);
    const bool is_possible = number.has_value() && *number >= least && *number <= most;
    if (!is_possible || (std::is_integral_v<T> && std::trunc(*number) != *number)) {
      LOG(WARNING) << file_.path() << ": " << key << " is no "
                   << (std::is_integral_v<T> ? "whole " : "") << "number from " << least << " to "
                   << most << ": it is left out";
      return;
    }
    option = static_cast<T>(*number);
    is_empty_ = false;
  }

  bool is_empty() const { return is_empty_; }

 private:
  const GgufFile& file_;
  bool is_empty_ = true;
};

}  // namespace

SamplerOptions ChatSampling(const GgufFile& file) {
  constexpr double kLeast = 1e-6;  // Of what must be above 0.
  constexpr double kMost = 1e6;
  SamplerOptions options = {.temperature = kDefault.temperature};
  Recommendation recommendation(file);
  recommendation.Read("temp", 0, kMost, options.temperature);
  recommendation.Read("top_k", 0, INT_MAX, options.top_k);
  recommendation.Read("top_p", kLeast, 1, options.top_p);
  recommendation.Read("min_p", 0, 1, options.min_p);
  recommendation.Read("penalty_repeat", kLeast, kMost, options.repetition_penalty);
  recommendation.Read("penalty_last_n", 0, INT_MAX, options.repetition_window);
  return recommendation.is_empty() ? kDefault : options;
}

}  // namespace strata
