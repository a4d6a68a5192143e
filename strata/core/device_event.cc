#include "strata/core/device_event.h"

#include <atomic>
#include <memory>
#include <vector>

#include "glog/logging.h"
#include "strata/core/mutex.h"

namespace strata {

void DeviceEvent::LetGo() {
  Node* node = std::exchange(node_, nullptr);
  // The last holder must see all that the others did with the event before it is recorded anew.
  if (node != nullptr && node->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    node->shelf->PutBack(node);
  }
}

EventShelf::~EventShelf() {
  MutexLock lock(&mutex_);
  CHECK_EQ(free_.size(), nodes_.size()) << "an event outlives its device";
}

DeviceEvent EventShelf::Take() {
  MutexLock lock(&mutex_);
  if (free_.empty()) return DeviceEvent();
  DeviceEvent::Node* node = free_.back();
  free_.pop_back();
  return DeviceEvent(node);
}

DeviceEvent EventShelf::Add(void* handle) {
  MutexLock lock(&mutex_);
  nodes_.push_back(std::make_unique<DeviceEvent::Node>());
  nodes_.back()->handle = handle;
  nodes_.back()->shelf = this;
  free_.reserve(nodes_.capacity());
  return DeviceEvent(nodes_.back().get());
}

void EventShelf::PutBack(DeviceEvent::Node* node) {
  MutexLock lock(&mutex_);
  free_.push_back(node);
}

}  // namespace strata
