// Activity records on their way to the client's buffers.
//
// Idea: a record is made where something is learnt, often with locks of the driver's held, and put
// aside. The client is only called (for a buffer, or with a full one) at the end of a call of its
// own program, or in a flush: with no lock of the driver's or of the records' held.
//
// Records are laid out as the public headers have them (cupti_activity.h); each release of CUPTI
// only adds fields at their ends, so that the newest form serves older clients, too.
//
// Threads: any. Errors: what finds no buffer is dropped and counted. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_RECORDS_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_RECORDS_H_

#include <cstddef>
#include <mutex>
#include <vector>

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
  bool HasRoom(size_t bytes) const;
  void Complete();
  bool Request();

  std::mutex mutex_;  // of what follows
  CUpti_BuffersCallbackRequestFunc request_ = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete_ = nullptr;
  std::vector<char> aside_;
  size_t dropped_ = 0;

  std::mutex delivery_;  // of the buffer; taken first, held while the client is called
  uint8_t* buffer_ = nullptr;
  size_t size_ = 0;
  size_t valid_ = 0;
  size_t most_records_ = 0;  // 0: as many as there is room for
  size_t records_ = 0;
};

Records& TheRecords();

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_RECORDS_H_
