// StreamRecord: knows whether a stream exists, without asking the driver. It is undefined behaviour
// to pass a destroyed stream to the driver.
//
// Ownership: the record outlives the pool. Threads: `find` may be called from any thread. Errors:
// kUnknown if the stream was not recorded. Units: streams and contexts as the driver's handles.
#ifndef VRAMSTOW_ALLOCATOR_CORE_STREAM_RECORD_H_
#define VRAMSTOW_ALLOCATOR_CORE_STREAM_RECORD_H_

#include <cstdint>

namespace vramstow {

enum class StreamFate : uint8_t {
  kUnknown,  // its creation was not observed
  kLives,
  kGone,  // destroyed, by itself or with its context
};

// A function that looks up streams. If `find` is null, every stream is unknown.
struct StreamRecord {
  // Sets *context to the context in which a live stream was created, or to null if that is unknown.
  StreamFate (*find)(const void* record, uint64_t stream, const void** context) = nullptr;
  const void* record = nullptr;

  // True if the stream is known to live in another context than this one.
  bool LivesElsewhere(uint64_t stream, const void* context) const {
    const void* made_in = nullptr;
    return find != nullptr && find(record, stream, &made_in) == StreamFate::kLives &&
           made_in != nullptr && made_in != context;
  }
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_CORE_STREAM_RECORD_H_
