// Requests: the requests of a recorded run, without the addresses that served them. They are the
// input of every model.
//
// Idea: of the layers in a recording, the one closest to the application is used: tensors if there
// are any, otherwise the driver's blocks. A block's memory may be reused when its free is complete.
// Blocks that were live when the recording began are requested first. An allocation that failed is
// requested and freed at once.
//
// Ownership: a plain value. Threads: const functions may be called at the same time. Errors:
// kInvalidArgument if there are no requests. Memory: 32 bytes for each request. Units: bytes.
#ifndef VRAMSTOW_TOOLS_REPLAY_REQUESTS_H_
#define VRAMSTOW_TOOLS_REPLAY_REQUESTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/analysis/accounts/event_source.h"

namespace vramstow {

enum class RequestKind : uint8_t {
  kAllocate,
  kFree,
  kTry,    // an allocation that failed in the recording
  kFlush,  // torch.cuda.empty_cache()
  kNone,   // a free that the driver refused
  kTouch,  // work uses the block
};

struct Request {
  uint64_t bytes = 0;  // of a touch: when, in nanoseconds
  uint64_t event = 0;  // its number in the recording, for messages
  uint32_t block = 0;
  uint32_t stream = 0;  // of a touch: by the offloader's clock
  uint32_t pool = 0;
  RequestKind kind = RequestKind::kNone;
};

struct Requests {
  std::vector<Request> list;
  uint32_t blocks = 0;
  uint32_t streams = 0;
  uint32_t pools = 1;
  std::vector<uint64_t> last_of_pool;  // the index of the last request that names it
  int16_t device = 0;
  uint64_t device_bytes = 0;  // 0 if unknown
  // The memory of the device that the requests could use. It is the free memory when the process
  // began, or the limit that PyTorch was given, minus the peak of other memory in the process. It
  // is 0 if unknown.
  uint64_t available_bytes = 0;
  uint64_t failed = 0;  // requests that failed in the recording
  // The index of the first request that counts. Requests before it may be refused, and the peaks do
  // not include them, because the program had survived a failure when this request came.
  uint64_t judged_from = 0;
  Layer layer = Layer::kDriver;
  uint64_t touches = 0;
  uint64_t frees_of_unseen = 0;
  // Calls of empty_cache(), on all devices, that were found without a call stack.
  uint64_t guessed_flushes = 0;
  uint64_t other_devices = 0;  // requests on devices that were left out
  std::vector<std::string> missing;
};

// Reads the requests of one device: of `device` or, if it is nullopt, of the device with most
// requests.
absl::StatusOr<Requests> ReadRequests(EventSource* source, std::optional<int16_t> device);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPLAY_REQUESTS_H_
