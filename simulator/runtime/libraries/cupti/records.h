// Records queues activity records and copies them to the client's buffers.
//
// Idea: a record is made and queued where an event is observed, often while locks of the driver are
// held. The client is only called (for a buffer, or with a full one) at the end of a call that the
// program made, or in a flush, when no lock of the driver or of the queue is held.
//
// Records have the layout of the public headers (cupti_activity.h). Each release of CUPTI only adds
// fields at the end of a record, so the newest form serves older clients, too.
//
// Ownership: a buffer belongs to the client again once the client has been called with it. Threads:
// any. Errors: records without a buffer are dropped and counted. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_RECORDS_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_RECORDS_H_

#include <cstddef>
#include <vector>

#include "base/mutex.h"
#include "simulator/runtime/libraries/cupti/cupti.h"

namespace vramstow::simulator {

// CUpti_ActivityKernel11: the structure of CUPTI 13.0 with the fields that 13.2 adds.
struct KernelRecord {
  CUpti_ActivityKernel10 base;
  int32_t priority;
  uint32_t unused;
};

// Returns the size of a record, or 0 if no record of this kind is ever made.
size_t RecordBytes(CUpti_ActivityKind kind);

class Records {
 public:
  void SetCallbacks(CUpti_BuffersCallbackRequestFunc request,
                    CUpti_BuffersCallbackCompleteFunc complete);
  bool has_callbacks();

  // Queues a record, whose first member is its kind.
  template <typename Record>
  void Add(const Record& record) {
    Append(&record, sizeof(record));
  }

  // Copies queued records to buffers and delivers full buffers. If `all` is true, the last buffer
  // is delivered even if it is not full.
  void Deliver(bool all);

  size_t PopDropped();

 private:
  void Append(const void* record, size_t bytes);
  bool HasRoom(size_t bytes) const VRAMSTOW_REQUIRES(delivery_);
  void Complete() VRAMSTOW_REQUIRES(delivery_);
  bool Request() VRAMSTOW_REQUIRES(delivery_);

  // The lock that is held while the client is called.
  Mutex delivery_ VRAMSTOW_ACQUIRED_BEFORE(mutex_);
  uint8_t* buffer_ VRAMSTOW_GUARDED_BY(delivery_) = nullptr;
  size_t size_ VRAMSTOW_GUARDED_BY(delivery_) = 0;
  size_t valid_ VRAMSTOW_GUARDED_BY(delivery_) = 0;
  // Largest number of records in a buffer; 0 means as many as fit.
  size_t most_records_ VRAMSTOW_GUARDED_BY(delivery_) = 0;
  size_t records_ VRAMSTOW_GUARDED_BY(delivery_) = 0;

  Mutex mutex_;
  CUpti_BuffersCallbackRequestFunc request_ VRAMSTOW_GUARDED_BY(mutex_) = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete_ VRAMSTOW_GUARDED_BY(mutex_) = nullptr;
  std::vector<char> aside_ VRAMSTOW_GUARDED_BY(mutex_);
  size_t dropped_ VRAMSTOW_GUARDED_BY(mutex_) = 0;
};

Records& TheRecords();

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_RECORDS_H_
