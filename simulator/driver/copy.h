// Describes and submits copies of any shape.
//
// Idea: every copy is a box of `depth` slices of `height` rows of `width` bytes, with a pitch and a
// slice pitch on either side; a plain copy is one row.
//
// Ownership: values; queued work owns copies of them. Threads: the caller holds the driver's lock.
// Errors: returns a CUresult before anything is queued. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_COPY_H_
#define VRAMSTOW_SIMULATOR_DRIVER_COPY_H_

#include "simulator/device/sizes.h"
#include "simulator/driver/call.h"

namespace vramstow::simulator {

struct CopySide {
  static constexpr int kOfStream = -1;

  uint64_t address = 0;  // address of the box's first byte
  uint64_t pitch = 0;    // distance between rows
  uint64_t slice = 0;    // distance between slices
  // The device whose access to mapped memory is checked. It is the device of the stream, unless the
  // call names a context for this side of the copy.
  int device = kOfStream;
};

struct CopyBox {
  CopySide to;
  CopySide from;
  uint64_t width = 0;
  uint64_t height = 1;
  uint64_t depth = 1;

  static CopyBox Row(uint64_t to, uint64_t from, uint64_t bytes) {
    return {.to = {to, bytes, bytes}, .from = {from, bytes, bytes}, .width = bytes};
  }
  uint64_t Bytes() const { return MultiplySizes(MultiplySizes(width, height), depth); }
  uint64_t Reach(const CopySide& side) const;  // from the first byte to the end of the last
};

enum class CopyMode { kSynchronous, kAsynchronous };
constexpr CopyMode kNow = CopyMode::kSynchronous;
constexpr CopyMode kLater = CopyMode::kAsynchronous;

// Sets the devices of both sides to those of the given contexts.
CUresult NamePeers(Call& call, CUcontext to, CUcontext from, CopyBox* box);

// Checks a copy, then enqueues it in stream order. As documented for pageable memory, the bytes of
// a pageable source are read during the call, and a copy into pageable memory has ended when the
// call returns.
CUresult SubmitCopy(Call& call, Stream* stream, const CopyBox& box, CopyMode mode);

// The bytes of a pageable source, which the program may change when the call returns. They are
// either copied to a staging buffer or left out.
struct TakenBytes {
  std::shared_ptr<std::vector<char>> staged;  // or null
  bool are_left_out = false;
  bool are_patched = false;  // the program gets other bytes than those that are read
};

// Makes the work of a copy.
std::shared_ptr<Work> MakeCopyWork(State* state, Context* context, const CopyBox& box,
                                   TakenBytes taken);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_COPY_H_
