// What is known of a stream without asking the driver, which must not be asked about one that was
// destroyed.
//
// Ownership: the record outlives the pool. Threads: `find` may be called from any thread. Errors:
// kUnknown. Units: streams and contexts as the driver's handles.
#ifndef VRAMSTOW_ALLOCATOR_CORE_STREAM_RECORD_H_
#define VRAMSTOW_ALLOCATOR_CORE_STREAM_RECORD_H_

#include <cstdint>

namespace vramstow {

enum class StreamFate : uint8_t {
  kUnknown,  // nobody saw it made
  kLives,
  kGone,  // destroyed, by itself or with its context
};

// Without `find` every stream is unknown.
struct StreamRecord {
  // *context: in which a stream that lives was made; null: nobody knows.
  StreamFate (*find)(const void* record, uint64_t stream, const void** context) = nullptr;
  const void* record = nullptr;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_CORE_STREAM_RECORD_H_
