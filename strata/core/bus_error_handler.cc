#include "strata/core/bus_error_handler.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "glog/logging.h"
#include "strata/core/mutex.h"

namespace strata {

// One registered range. Entries form a list that only grows, so the handler walks it without a
// lock; an entry whose region is gone has begin 0 and is used again by a later one.
struct BackedRegion::Entry {
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> end{0};
  std::atomic<int> fd{-1};
  std::atomic<bool> missed_a_page{false};
  Entry* next = nullptr;
};

namespace {

static_assert(std::atomic<uintptr_t>::is_always_lock_free);

std::atomic<BackedRegion::Entry*> first_entry{nullptr};
uintptr_t page_bytes = 0;
struct sigaction previous_action;

Mutex& RegistrationMutex() {
  static Mutex* const mutex = new Mutex;
  return *mutex;
}

// Where the missing pages that begin at `page` end: at the end of the range when the file ends
// before `page`, so that reading on costs one fault; else after one page, which the disk refused.
uintptr_t EndOfMissingPages(const BackedRegion::Entry& entry, uintptr_t page, uintptr_t end) {
  struct stat info;
  const bool past_end_of_file = fstat(entry.fd.load(), &info) == 0 &&
                                page - entry.begin.load() >= static_cast<uintptr_t>(info.st_size);
  return past_end_of_file ? end : page + page_bytes;
}

// True when `address` lies in a registered range and zero pages now back it.
bool BackWithZeros(uintptr_t address) {
  for (auto* entry = first_entry.load(); entry != nullptr; entry = entry->next) {
    const uintptr_t begin = entry->begin.load();
    const uintptr_t end = entry->end.load();
    if (begin == 0 || address < begin || address >= end) continue;
    const uintptr_t page = address / page_bytes * page_bytes;
    const uintptr_t bytes = EndOfMissingPages(*entry, page, end) - page;
    // The system call itself, as befits a signal handler: ThreadSanitizer's mmap would count as a
    // write to pages that other threads are reading, where the kernel changes them as a whole.
    if (syscall(SYS_mmap, page, bytes, PROT_READ,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == -1) {
      return false;
    }
    entry->missed_a_page.store(true);
    return true;
  }
  return false;
}

void PassOn(int signal_number, siginfo_t* info, void* context) {
  if ((previous_action.sa_flags & SA_SIGINFO) != 0) {
    previous_action.sa_sigaction(signal_number, info, context);
  } else if (previous_action.sa_handler == SIG_DFL || previous_action.sa_handler == SIG_IGN) {
    // The instruction runs again when this returns, and the fault then ends the process.
    signal(SIGBUS, SIG_DFL);
    if (info->si_code <= 0) raise(SIGBUS);  // Sent by kill(): nothing would run again.
  } else {
    previous_action.sa_handler(signal_number);
  }
}

void HandleBusError(int signal_number, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  if (info->si_code <= 0 || !BackWithZeros(reinterpret_cast<uintptr_t>(info->si_addr))) {
    PassOn(signal_number, info, context);
  }
  errno = saved_errno;
}

void InstallOnce() ABSL_EXCLUSIVE_LOCKS_REQUIRED(RegistrationMutex()) {
  static bool installed = false;
  if (installed) return;
  installed = true;
  page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  struct sigaction action = {};
  action.sa_sigaction = HandleBusError;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  // The previous action must be known before ours can run.
  PCHECK(sigaction(SIGBUS, nullptr, &previous_action) == 0);
  PCHECK(sigaction(SIGBUS, &action, nullptr) == 0);
}

BackedRegion::Entry* UnusedEntry() ABSL_EXCLUSIVE_LOCKS_REQUIRED(RegistrationMutex()) {
  for (auto* entry = first_entry.load(); entry != nullptr; entry = entry->next) {
    if (entry->begin.load() == 0) return entry;
  }
  auto* const entry = new BackedRegion::Entry;
  entry->next = first_entry.load();
  first_entry.store(entry);
  return entry;
}

BackedRegion::Entry* Register(const std::byte* data, size_t bytes, int fd) {
  MutexLock lock(&RegistrationMutex());
  InstallOnce();
  BackedRegion::Entry* const entry = UnusedEntry();
  const uintptr_t begin = reinterpret_cast<uintptr_t>(data);
  CHECK_EQ(begin % page_bytes, 0u);
  entry->missed_a_page.store(false);
  entry->fd.store(fd);
  // The range as the kernel mapped it: whole pages.
  entry->end.store((begin + bytes + page_bytes - 1) / page_bytes * page_bytes);
  entry->begin.store(begin);
  return entry;
}

}  // namespace

BackedRegion::BackedRegion(const std::byte* data, size_t bytes, int fd)
    : entry_(Register(data, bytes, fd)) {}

BackedRegion::~BackedRegion() {
  MutexLock lock(&RegistrationMutex());
  entry_->begin.store(0);
}

bool BackedRegion::missed_a_page() const { return entry_->missed_a_page.load(); }

}  // namespace strata
