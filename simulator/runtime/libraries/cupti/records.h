// Activity records on their way to the client's buffers.
//
// Idea: a record is made where something is learnt, often with locks of the driver's held, and put
// aside. The client is only called (for a buffer, or with a full one) at the end of a call of its
// own program, or in a flush: with no lock of the driver's or of the records' held.
//
// Records are laid out as the public headers have them (cupti_activity.h); each release of CUPTI
// only adds fields at their ends, so that the newest form serves older clients, too.
//
// Ownership: a buffer is the client's again once it was called with it. Threads: any. Errors: what
// finds no buffer is dropped and counted. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_RECORDS_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_RECORDS_H_

#include <cstddef>
#include <vector>

#include "base/mutex.h"
#include "simulator/runtime/libraries/cupti/cupti.h"

namespace vramstow::simulator {

// CUpti_ActivityKernel11: what CUPTI 13.2 adds to the structure of 13.0.
struct KernelRecord {
  CUpti_ActivityKernel10 base;
  int32_t priority;
  uint32_t unused;
};

// 0: no record of this kind is ever made.
size_t RecordBytes(CUpti_ActivityKind kind);

class Records {
 public:
  void SetCallbacks(CUpti_BuffersCallbackRequestFunc request,
                    CUpti_BuffersCallbackCompleteFunc complete);
  bool has_callbacks();

  // `record` begins with its kind.
  template <typename Record>
  void Add(const Record& record) {
    Append(&record, sizeof(record));
  }

  // Brings what was put aside into buffers. `all`: gives the last one back, too, though it is not
  // full.
  void Deliver(bool all);

  size_t TakeDropped();

 private:
  void Append(const void* record, size_t bytes);
  bool HasRoom(size_t bytes) const VRAMSTOW_REQUIRES(delivery_);
  void Complete() VRAMSTOW_REQUIRES(delivery_);
  bool Request() VRAMSTOW_REQUIRES(delivery_);

  // Held while the client is called.
  Mutex delivery_ VRAMSTOW_ACQUIRED_BEFORE(mutex_);
  uint8_t* buffer_ VRAMSTOW_GUARDED_BY(delivery_) = nullptr;
  size_t size_ VRAMSTOW_GUARDED_BY(delivery_) = 0;
  size_t valid_ VRAMSTOW_GUARDED_BY(delivery_) = 0;
  // 0: as many as there is room for.
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
