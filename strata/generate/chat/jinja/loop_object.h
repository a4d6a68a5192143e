// The variable `loop`: where a loop is, and what is around it.
#ifndef STRATA_GENERATE_CHAT_JINJA_LOOP_OBJECT_H_
#define STRATA_GENERATE_CHAT_JINJA_LOOP_OBJECT_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "strata/generate/chat/jinja/cursor.h"
#include "strata/generate/chat/jinja/value.h"

namespace strata::jinja {

// It looks one item ahead only when asked for what comes next, and takes all items only when asked
// for the length of a generator, as Python's does.
class LoopObject : public Object {
 public:
  // Renders the loop's body over other items, for a recursive loop.
  using Recurse = std::function<absl::StatusOr<Value>(const Value& items, int depth0)>;

  static absl::StatusOr<std::shared_ptr<LoopObject>> Create(const Value& iterable, int depth0,
                                                            Recurse recurse, Budget& budget);

  // The next item, which becomes the current one; missing at the end.
  absl::StatusOr<Value> Next();
  // The loop is over: it lets go of what it could hold in a circle.
  void End();

  int64_t index0() const { return index0_; }
  int depth0() const { return depth0_; }
  const Recurse& recurse() const { return recurse_; }
  absl::StatusOr<int64_t> Length();
  // loop.`name`; missing if there is no such attribute.
  absl::StatusOr<Value> Attribute(absl::string_view name);
  // Whether `values`, a tuple, differs from that of the last call.
  bool HasChanged(const Value& values, Budget& budget);

 private:
  LoopObject(Value iterable, Cursor cursor, int depth0, Recurse recurse, Budget& budget);

  absl::StatusOr<Value> PeekNext();

  const Value iterable_;
  Budget& budget_;
  Cursor cursor_;
  const int depth0_;
  Recurse recurse_;
  int64_t index0_ = -1;
  int64_t length_ = -1;  // Not known yet.
  bool has_ended_ = false;
  Value after_;  // Looked at already; missing otherwise.
  Value current_;
  Value before_;
  Value last_changed_;
};

}  // namespace strata::jinja

#endif  // STRATA_GENERATE_CHAT_JINJA_LOOP_OBJECT_H_
