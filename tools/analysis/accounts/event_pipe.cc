#include "tools/analysis/accounts/event_pipe.h"

#include <pthread.h>
#include <signal.h>

namespace vramstow {

EventPipe::EventPipe(EventSource* source)
    : source_(source), batches_(std::make_unique<std::array<EventBatch, kBatches>>()) {
  // The new thread blocks all signals, so that they are handled by the existing threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { Read(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(thread_.native_handle(), "vramstow-read");
}

EventPipe::~EventPipe() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_stopped_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void EventPipe::Read() {
  try {
    for (size_t number = 0;; ++number) {
      {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [&] { return is_stopped_ || number - given_back_ < kBatches; });
        if (is_stopped_) return;
      }
      EventBatch& batch = (*batches_)[number % kBatches];
      batch.Clear();
      source_->Fill(&batch);
      const std::lock_guard<std::mutex> lock(mutex_);
      if (batch.count > 0) ++filled_;
      is_done_ = batch.count < EventBatch::kMax;
      changed_.notify_all();
      if (is_done_) return;
    }
  } catch (...) {
    const std::lock_guard<std::mutex> lock(mutex_);
    error_ = std::current_exception();
    is_done_ = true;
    changed_.notify_all();
  }
}

const EventBatch* EventPipe::Next() {
  std::unique_lock<std::mutex> lock(mutex_);
  if (next_ > given_back_) {
    given_back_ = next_;
    changed_.notify_all();
  }
  changed_.wait(lock, [&] { return filled_ > next_ || is_done_; });
  if (filled_ > next_) return &(*batches_)[next_++ % kBatches];
  if (error_ != nullptr) std::rethrow_exception(error_);
  return nullptr;
}

}  // namespace vramstow
