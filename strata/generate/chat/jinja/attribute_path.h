// The attribute that a filter looks at in each item: "name", "function.name", 0.
#ifndef STRATA_GENERATE_CHAT_JINJA_ATTRIBUTE_PATH_H_
#define STRATA_GENERATE_CHAT_JINJA_ATTRIBUTE_PATH_H_

#include <vector>

#include "absl/status/statusor.h"
#include "strata/generate/chat/jinja/budget.h"
#include "strata/generate/chat/jinja/value.h"

namespace strata::jinja {

class AttributePath {
 public:
  // Missing or none: the item itself.
  static absl::StatusOr<AttributePath> Parse(const Value& attribute);

  // `otherwise`, unless it is missing, replaces what is undefined.
  absl::StatusOr<Value> Get(const Value& item, Budget& budget,
                            const Value& otherwise = Value()) const;

 private:
  std::vector<Value> parts_;
};

// Texts in lower case, everything else as it is.
Value IgnoringCase(const Value& value, Budget& budget);

// A generator of `items` that ends with `end`.
Value IteratorOver(std::vector<Value> items, absl::Status end, Budget& budget);

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_ATTRIBUTE_PATH_H_
