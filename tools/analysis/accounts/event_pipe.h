// EventPipe: lets a thread of its own read a source, so that the events of a long trace are decoded
// while earlier ones are analysed.
//
// Idea: a ring of batches. The reader thread fills one batch after the other, and waits if all
// batches are full. It does not touch a batch that it handed over until the analysis has returned
// it.
//
// Ownership: the pipe uses the source until the pipe is destroyed; the destructor stops the thread.
// Threads: one thread calls Next. Errors: an exception of the source is rethrown by Next. Memory: a
// few batches.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_EVENT_PIPE_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_EVENT_PIPE_H_

#include <array>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "tools/analysis/accounts/event_batch.h"
#include "tools/analysis/accounts/event_source.h"

namespace vramstow {

class EventPipe {
 public:
  explicit EventPipe(EventSource* source);
  ~EventPipe();
  EventPipe(const EventPipe&) = delete;
  EventPipe& operator=(const EventPipe&) = delete;

  // Returns the next events, valid until the next call; null at the end.
  const EventBatch* Next();

 private:
  static constexpr size_t kBatches = 8;

  void Read();

  EventSource* source_;
  std::unique_ptr<std::array<EventBatch, kBatches>> batches_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_. These counters only rise: batch n lies in slot n % kBatches.
  size_t filled_ = 0;
  size_t given_back_ = 0;
  bool is_done_ = false;     // true at the end of the source
  bool is_stopped_ = false;  // true if the consumer has stopped
  std::exception_ptr error_;

  size_t next_ = 0;  // the next batch to return
  std::thread thread_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_EVENT_PIPE_H_
