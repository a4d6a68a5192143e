#include "strata/generate/chat/jinja/value.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "strata/core/utf8.h"

namespace strata::jinja {
namespace {

// Of an object with its control block, beside what it holds.
constexpr int64_t kObjectBytes = 96;

struct StringObject : Object {
  StringObject(MarkedText text, bool is_markup, Budget* budget)
      : Object(budget, kObjectBytes + static_cast<int64_t>(text.bytes()), 0),
        text(std::move(text)),
        is_markup(is_markup) {}

  const MarkedText text;
  const bool is_markup;
  mutable std::atomic<int64_t> num_characters{-1};  // Not counted yet.
};

int DepthOver(const std::vector<Value>& items) {
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, item.depth());
  return depth + 1;
}

struct SequenceObject : Object {
  SequenceObject(std::vector<Value> items, bool is_group, Budget* budget)
      : Object(budget, kObjectBytes + static_cast<int64_t>(items.size() * sizeof(Value)),
               DepthOver(items)),
        items(std::move(items)),
        is_group(is_group) {}

  const std::vector<Value> items;
  const bool is_group;
};

int DepthOver(const Dict& dict) {
  int depth = 0;
  for (const Dict::Entry& entry : dict.entries()) {
    depth = std::max({depth, entry.first.depth(), entry.second.depth()});
  }
  return depth + 1;
}

struct DictObject : Object {
  DictObject(Dict dict, Budget* budget)
      : Object(budget, kObjectBytes + static_cast<int64_t>(dict.size() * 3 * sizeof(Value)),
               DepthOver(dict)),
        dict(std::move(dict)) {}

  const Dict dict;
};

struct UndefinedObject : Object {
  explicit UndefinedObject(std::string message)
      : Object(nullptr, 0, 0), message(std::move(message)) {}

  const std::string message;
};

}  // namespace

Object::Object(Budget* budget, int64_t num_bytes, int depth)
    : budget(budget), num_bytes(num_bytes), depth(depth) {
  if (budget == nullptr) return;
  budget->Take(num_bytes);
  if (depth > kMaxValueDepth) {
    budget->Fail(absl::ResourceExhaustedError(
        absl::StrCat("values are nested more than ", kMaxValueDepth, " deep")));
  }
}

Object::~Object() {
  if (budget != nullptr) budget->Give(num_bytes);
}

Value Value::Undefined(std::string message) {
  return OfObject(Kind::kUndefined, std::make_shared<UndefinedObject>(std::move(message)));
}

Value Value::None(bool is_content) {
  Value value;
  value.kind_ = Kind::kNone;
  value.is_content_ = is_content;
  return value;
}

Value Value::Bool(bool value, bool is_content) {
  Value result = Int(value ? 1 : 0, is_content);
  result.kind_ = Kind::kBool;
  return result;
}

Value Value::Int(int64_t value, bool is_content) {
  Value result = None(is_content);
  result.kind_ = Kind::kInt;
  result.scalar_.integer = value;
  return result;
}

Value Value::Float(double value, bool is_content) {
  Value result = None(is_content);
  result.kind_ = Kind::kFloat;
  result.scalar_.number = value;
  return result;
}

Value Value::String(MarkedText text, Budget* budget) {
  return OfObject(Kind::kString, std::make_shared<StringObject>(std::move(text), false, budget));
}

Value Value::String(absl::string_view text, bool is_content) {
  return String(MarkedText(ReplaceIllFormedUtf8(text), is_content), nullptr);
}

Value Value::Markup(MarkedText text, Budget* budget) {
  return OfObject(Kind::kString, std::make_shared<StringObject>(std::move(text), true, budget));
}

Value Value::StringLike(const Value& model, MarkedText text, Budget* budget) {
  return model.IsMarkup() ? Markup(std::move(text), budget) : String(std::move(text), budget);
}

Value Value::List(std::vector<Value> items, Budget* budget, bool is_content) {
  Value list =
      OfObject(Kind::kList, std::make_shared<SequenceObject>(std::move(items), false, budget));
  list.is_content_ = is_content;
  return list;
}

Value Value::Tuple(std::vector<Value> items, Budget* budget, bool is_content) {
  Value tuple = List(std::move(items), budget, is_content);
  tuple.kind_ = Kind::kTuple;
  return tuple;
}

Value Value::Group(Value grouper, Value list, Budget* budget) {
  std::vector<Value> items = {std::move(grouper), std::move(list)};
  return OfObject(Kind::kTuple, std::make_shared<SequenceObject>(std::move(items), true, budget));
}

Value Value::DictOf(Dict dict, Budget* budget, bool is_content) {
  Value value = OfObject(Kind::kDict, std::make_shared<DictObject>(std::move(dict), budget));
  value.is_content_ = is_content;
  return value;
}

Value Value::OfObject(Kind kind, std::shared_ptr<Object> object) {
  Value value;
  value.kind_ = kind;
  value.object_ = std::move(object);
  return value;
}

bool Value::IsMarkup() const { return IsString() && object<StringObject>().is_markup; }

bool Value::HasContent() const { return is_content_ || (IsString() && marked_text().HasContent()); }

double Value::number() const {
  return kind_ == Kind::kFloat ? float_value() : static_cast<double>(int_value());
}

const MarkedText& Value::marked_text() const {
  CHECK(IsString());
  return object<StringObject>().text;
}

int64_t Value::num_characters() const {
  const StringObject& string = object<StringObject>();
  if (string.num_characters < 0) {
    const std::string& text = string.text.text();
    string.num_characters = std::count_if(text.begin(), text.end(), [](char byte) {
      return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
    });
  }
  return string.num_characters;
}

const std::vector<Value>& Value::items() const {
  CHECK(IsSequence());
  return object<SequenceObject>().items;
}

bool Value::IsGroup() const { return Is(Kind::kTuple) && object<SequenceObject>().is_group; }

const Dict& Value::dict() const {
  CHECK(Is(Kind::kDict));
  return object<DictObject>().dict;
}

const std::string& Value::undefined_message() const {
  CHECK(IsUndefined());
  return object<UndefinedObject>().message;
}

int Value::depth() const { return object_ == nullptr ? 0 : object_->depth; }

void Dict::Set(const Value& key, Value value) {
  std::string text;
  CHECK(HashText(key, text));
  const auto [at, is_new] = index_.try_emplace(std::move(text), entries_.size());
  if (is_new) {
    entries_.emplace_back(key, std::move(value));
  } else {
    entries_[at->second].second = std::move(value);
  }
}

void Dict::Set(absl::string_view key, Value value) { Set(Value::String(key), std::move(value)); }

const Value* Dict::Find(const Value& key) const {
  std::string text;
  if (!HashText(key, text)) return nullptr;
  const auto at = index_.find(text);
  return at == index_.end() ? nullptr : &entries_[at->second].second;
}

const Value* Dict::Find(absl::string_view key) const {
  const auto at = index_.find(absl::StrCat("s", key));
  return at == index_.end() ? nullptr : &entries_[at->second].second;
}

namespace {

// Tuples share what is in them, so their text can be much larger than they are.
constexpr size_t kMaxTupleKeyBytes = 1 << 16;

void AppendFloatKey(double number, std::string& text) {
  if (number == std::floor(number) && std::abs(number) < 0x1p63) {
    absl::StrAppend(&text, "i", static_cast<int64_t>(number));
  } else {
    text.push_back('f');
    text.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
}

// The items each with their number of bytes, so that none can be taken for two.
bool AppendTupleKey(const Value& tuple, std::string& text) {
  absl::StrAppend(&text, "t", tuple.items().size());
  for (const Value& item : tuple.items()) {
    std::string part;
    if (!HashText(item, part) || text.size() + part.size() > kMaxTupleKeyBytes) return false;
    absl::StrAppend(&text, ":", part.size(), ":", part);
  }
  return true;
}

}  // namespace

bool HashText(const Value& key, std::string& text) {
  switch (key.kind()) {
    case Value::Kind::kString:
      absl::StrAppend(&text, "s", key.text());
      return true;
    case Value::Kind::kBool:
    case Value::Kind::kInt:
      absl::StrAppend(&text, "i", key.int_value());
      return true;
    case Value::Kind::kFloat:
      AppendFloatKey(key.float_value(), text);
      return true;
    case Value::Kind::kNone:
      text.push_back('n');
      return true;
    case Value::Kind::kUndefined:
      text.push_back('u');
      return true;
    case Value::Kind::kTuple:
      return AppendTupleKey(key, text);
    case Value::Kind::kMissing:
    case Value::Kind::kList:
    case Value::Kind::kDict:
    case Value::Kind::kDictView:
      return false;
    default:
      absl::StrAppend(&text, "o",
                      absl::Hex(reinterpret_cast<uintptr_t>(key.shared_object().get())));
      return true;
  }
}

absl::string_view TypeName(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kMissing:
    case Value::Kind::kUndefined:
      return "Undefined";
    case Value::Kind::kNone:
      return "NoneType";
    case Value::Kind::kBool:
      return "bool";
    case Value::Kind::kInt:
      return "int";
    case Value::Kind::kFloat:
      return "float";
    case Value::Kind::kString:
      return "str";
    case Value::Kind::kList:
      return "list";
    case Value::Kind::kTuple:
      return "tuple";
    case Value::Kind::kDict:
      return "dict";
    case Value::Kind::kRange:
      return "range";
    case Value::Kind::kDictView:
      return "dict view";
    case Value::Kind::kIterator:
      return "generator";
    case Value::Kind::kNamespace:
      return "Namespace";
    case Value::Kind::kMacro:
      return "Macro";
    case Value::Kind::kLoop:
      return "LoopContext";
    case Value::Kind::kCycler:
      return "Cycler";
    case Value::Kind::kJoiner:
      return "Joiner";
    case Value::Kind::kFunction:
      return "function";
    case Value::Kind::kMethod:
      return "method";
  }
  return "";
}

}  // namespace strata::jinja
