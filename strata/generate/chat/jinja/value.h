// A value of a template: what Python's would be, with marks of what is content.
//
// Strings, lists, tuples and dicts never change once made (a chat template runs in a sandbox that
// refuses to change them), so values share them. What changes while a template runs lives in
// runtime_objects.h. Copies are cheap. Thread-compatible: values that are not in use by a run may
// be read by several threads.
#ifndef STRATA_GENERATE_CHAT_JINJA_VALUE_H_
#define STRATA_GENERATE_CHAT_JINJA_VALUE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "strata/generate/chat/jinja/budget.h"
#include "strata/generate/chat/jinja/marked_text.h"

namespace strata::jinja {

class Dict;
struct Object;

class Value {
 public:
  enum class Kind {
    kMissing,  // No value at all: a variable not set, an argument not given. Never seen by
               // templates.
    kUndefined,
    kNone,
    kBool,
    kInt,
    kFloat,
    kString,
    kList,
    kTuple,
    kDict,
    kRange,
    kDictView,
    kIterator,
    kNamespace,
    kMacro,
    kLoop,
    kCycler,
    kJoiner,
    kFunction,
    kMethod,
  };

  Value() = default;  // Missing.
  // `message` says what is undefined.
  static Value Undefined(std::string message);
  static Value None(bool is_content = false);
  static Value Bool(bool value, bool is_content = false);
  static Value Int(int64_t value, bool is_content = false);
  static Value Float(double value, bool is_content = false);

  // What takes memory is counted by `budget` while it lives, unless that is null.
  static Value String(MarkedText text, Budget* budget);
  static Value String(absl::string_view text, bool is_content = false);
  // Text that needs no escaping for HTML any more (Python's Markup).
  static Value Markup(MarkedText text, Budget* budget);
  static Value StringLike(const Value& model, MarkedText text, Budget* budget);
  static Value List(std::vector<Value> items, Budget* budget, bool is_content = false);
  static Value Tuple(std::vector<Value> items, Budget* budget, bool is_content = false);
  // The pair that `groupby` gives, whose parts have names too.
  static Value Group(Value grouper, Value list, Budget* budget);
  static Value DictOf(Dict dict, Budget* budget, bool is_content = false);
  // Of any kind that is an object.
  static Value OfObject(Kind kind, std::shared_ptr<Object> object);

  Kind kind() const { return kind_; }
  bool Is(Kind kind) const { return kind_ == kind; }
  bool IsMissing() const { return kind_ == Kind::kMissing; }
  bool IsUndefined() const { return kind_ == Kind::kUndefined; }
  bool IsNone() const { return kind_ == Kind::kNone; }
  bool IsString() const { return kind_ == Kind::kString; }
  // Bools are ints to Python.
  bool IsIntegral() const { return kind_ == Kind::kBool || kind_ == Kind::kInt; }
  bool IsNumber() const { return IsIntegral() || kind_ == Kind::kFloat; }
  bool IsSequence() const { return kind_ == Kind::kList || kind_ == Kind::kTuple; }
  bool IsMarkup() const;

  // For strings marks are in the text; this is whether anything else is content.
  bool is_content() const { return is_content_; }
  // Whether any of it is content, without looking into containers.
  bool HasContent() const;

  // Each is for values of its kind alone; int_value of a bool is 0 or 1, number of all numbers.
  bool bool_value() const { return scalar_.integer != 0; }
  int64_t int_value() const { return scalar_.integer; }
  double float_value() const { return scalar_.number; }
  double number() const;
  const MarkedText& marked_text() const;
  const std::string& text() const { return marked_text().text(); }
  // In characters; found once.
  int64_t num_characters() const;
  const std::vector<Value>& items() const;
  // Whether it is a pair of `groupby`.
  bool IsGroup() const;
  const Dict& dict() const;
  const std::string& undefined_message() const;
  template <typename T>
  T& object() const {
    return static_cast<T&>(*object_);
  }
  const std::shared_ptr<Object>& shared_object() const { return object_; }
  bool IsSameObject(const Value& other) const { return object_ == other.object_; }
  // How many containers are inside each other.
  int depth() const;

 private:
  Kind kind_ = Kind::kMissing;
  bool is_content_ = false;
  union {
    int64_t integer;
    double number;
  } scalar_ = {.integer = 0};
  std::shared_ptr<Object> object_;
};

// Deeper containers are refused, which bounds every walk through values.
inline constexpr int kMaxValueDepth = 100;

// The base of all that values share. It gives back what it took when it goes.
struct Object {
  Object(Budget* budget, int64_t num_bytes, int depth);
  virtual ~Object();
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  Budget* const budget;
  const int64_t num_bytes;
  const int depth;
};

// A dict in the order of insertion.
class Dict {
 public:
  using Entry = std::pair<Value, Value>;

  const std::vector<Entry>& entries() const { return entries_; }
  size_t size() const { return entries_.size(); }
  // `key` is hashable (HashText). A key that is there keeps its place and its own marks.
  void Set(const Value& key, Value value);
  void Set(absl::string_view key, Value value);
  // Null if there is none.
  const Value* Find(const Value& key) const;
  const Value* Find(absl::string_view key) const;

 private:
  std::vector<Entry> entries_;
  absl::flat_hash_map<std::string, size_t> index_;  // By hash text.
};

// A text that is equal for equal keys and for no others; false if `key` cannot be a key.
bool HashText(const Value& key, std::string& text);

// The name of its Python type: "str".
absl::string_view TypeName(const Value& value);

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_VALUE_H_
