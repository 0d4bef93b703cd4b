#include "simulator/runtime/libraries/cupti/records.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "simulator/runtime/libraries/cupti/observer.h"

namespace vramstow::simulator {

Records& TheRecords() {
  static auto* records = new Records;
  return *records;
}

size_t RecordBytes(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return sizeof(KernelRecord);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME:
      return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return sizeof(CUpti_ActivityMemory4);
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
      return sizeof(CUpti_ActivityMemoryPool3);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return sizeof(CUpti_ActivityExternalCorrelation);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return sizeof(CUpti_ActivitySynchronization2);
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
      return sizeof(CUpti_ActivityCudaEvent2);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return sizeof(CUpti_ActivityOverhead3);
    default:
      return 0;
  }
}

void Records::SetCallbacks(CUpti_BuffersCallbackRequestFunc request,
                           CUpti_BuffersCallbackCompleteFunc complete) {
  // Records that are still queued are delivered to the previous client first.
  Deliver(true);
  const MutexLock lock(&mutex_);
  request_ = request;
  complete_ = complete;
}

bool Records::has_callbacks() {
  const MutexLock lock(&mutex_);
  return request_ != nullptr;
}

void Records::Append(const void* record, size_t bytes) {
  const MutexLock lock(&mutex_);
  if (request_ == nullptr) {
    ++dropped_;
    return;
  }
  const char* from = static_cast<const char*>(record);
  aside_.insert(aside_.end(), from, from + bytes);
}

bool Records::HasRoom(size_t bytes) const {
  return buffer_ != nullptr && valid_ + bytes <= size_ &&
         (most_records_ == 0 || records_ < most_records_);
}

void Records::Complete() {
  uint8_t* buffer = std::exchange(buffer_, nullptr);
  if (buffer == nullptr) return;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  {
    const MutexLock lock(&mutex_);
    complete = complete_;
  }
  const InsideClient inside;
  // Records of all contexts and streams share buffers; as documented, both arguments are null and 0
  // then.
  complete(nullptr, 0, buffer, size_, valid_);
}

bool Records::Request() {
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  {
    const MutexLock lock(&mutex_);
    request = request_;
  }
  const InsideClient inside;
  size_ = valid_ = most_records_ = records_ = 0;
  request(&buffer_, &size_, &most_records_);
  return buffer_ != nullptr;
}

void Records::Deliver(bool all) {
  const MutexLock delivery(&delivery_);
  std::vector<char> aside;
  {
    const MutexLock lock(&mutex_);
    aside.swap(aside_);
  }
  for (size_t at = 0; at < aside.size();) {
    CUpti_ActivityKind kind = CUPTI_ACTIVITY_KIND_INVALID;
    memcpy(&kind, aside.data() + at, sizeof(kind));
    const size_t bytes = RecordBytes(kind);
    if (!HasRoom(bytes)) {
      Complete();
      if (!Request() || !HasRoom(bytes)) {
        const MutexLock lock(&mutex_);
        ++dropped_;
        at += bytes;
        continue;
      }
    }
    memcpy(buffer_ + valid_, aside.data() + at, bytes);
    valid_ += bytes;
    ++records_;
    at += bytes;
  }
  if (all) Complete();
}

size_t Records::PopDropped() {
  const MutexLock lock(&mutex_);
  return std::exchange(dropped_, 0);
}

}  // namespace vramstow::simulator
