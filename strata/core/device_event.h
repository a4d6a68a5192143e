// A point of a stream that has been recorded once: it ends when all work before it has.
//
// Copies of an event name the same point; whatever must not be touched before that point keeps one.
// The device takes the event back when the last copy is gone and uses it again for another record,
// so no event changes its meaning while somebody holds it, and none is created after warm-up.
//
// Copies may live on different threads; one copy is used by one thread at a time. An empty event
// (default, moved from) stands for no work.
#ifndef STRATA_CORE_DEVICE_EVENT_H_
#define STRATA_CORE_DEVICE_EVENT_H_

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "strata/core/mutex.h"

namespace strata {

class EventShelf;

class DeviceEvent {
 public:
  DeviceEvent() = default;
  DeviceEvent(const DeviceEvent& other) : node_(other.node_) { Hold(); }
  DeviceEvent(DeviceEvent&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  DeviceEvent& operator=(DeviceEvent other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~DeviceEvent() { LetGo(); }

  bool empty() const { return node_ == nullptr; }
  // The device's own handle: cudaEvent_t, or HostDevice's event.
  void* handle() const { return node_->handle; }

 private:
  friend class EventShelf;
  struct Node {
    void* handle;
    EventShelf* shelf;
    std::atomic<int> holders{0};
  };

  explicit DeviceEvent(Node* node) : node_(node) { Hold(); }
  void Hold() {
    if (node_ != nullptr) node_->holders.fetch_add(1, std::memory_order_relaxed);
  }
  void LetGo();

  Node* node_ = nullptr;
};

// The events of one device that nobody holds. Thread-safe; outlives its events.
class EventShelf {
 public:
  EventShelf() = default;
  // Every event must be back.
  ~EventShelf();
  EventShelf(const EventShelf&) = delete;
  EventShelf& operator=(const EventShelf&) = delete;

  // An event to record; empty when the shelf is.
  DeviceEvent Take() ABSL_LOCKS_EXCLUDED(mutex_);
  // An event for a new handle of the driver; the handle stays with the shelf.
  DeviceEvent Add(void* handle) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  friend class DeviceEvent;
  void PutBack(DeviceEvent::Node* node) ABSL_LOCKS_EXCLUDED(mutex_);

  mutable Mutex mutex_;
  std::vector<std::unique_ptr<DeviceEvent::Node>> nodes_ ABSL_GUARDED_BY(mutex_);
  std::vector<DeviceEvent::Node*> free_ ABSL_GUARDED_BY(mutex_);  // Room for all nodes.
};

}  // namespace strata

#endif  // STRATA_CORE_DEVICE_EVENT_H_
