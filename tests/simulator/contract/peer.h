// Peer is another process that uses the driver under test, for tests of what happens between
// processes.
//
// Idea: the test's own program is started again. It makes the driver calls that it receives through
// a socket, one after the other, and returns their results. It ends with its Peer.
#ifndef VRAMSTOW_TESTS_SIMULATOR_CONTRACT_PEER_H_
#define VRAMSTOW_TESTS_SIMULATOR_CONTRACT_PEER_H_

#include <signal.h>
#include <sys/types.h>

#include "tests/simulator/contract/driver.h"

namespace vramstow::simulator {

enum class PeerCall {
  kStart,             // cuInit and a current primary context of device 0
  kFreeBytes,         // -> value
  kAllocate,          // value: bytes -> value: address
  kFree,              // value: address
  kFill,              // value: address, count bytes of `byte`, through the default stream
  kRead,              // value: address, count bytes -> data
  kMemoryHandle,      // value: address -> data
  kOpenMemory,        // data -> value: address
  kCloseMemory,       // value: address
  kMakeEvent,         // value: flags -> value: event
  kRecordEvent,       // value: event, in the default stream
  kEventHandle,       // value: event -> data
  kOpenEvent,         // data -> value: event
  kQueryEvent,        // value: event
  kSynchronizeEvent,  // value: event
  kWaitEvent,         // value: event: the default stream waits for it
  kSynchronize,       // the context
  kImportMapped,      // a descriptor of `count` bytes -> value: where they are mapped
  kUnmap,             // value: address, count: bytes
  kExportMapped,      // count bytes, shareable -> value: address; a descriptor comes back
  kMakePool,          // shareable -> value: pool; a descriptor comes back
  kAllocateFromPool,  // value: pool, count: bytes -> value: address
  kExportPointer,     // value: address -> data
  kImportPool,        // a descriptor -> value: pool
  kImportPointer,     // value: pool, data -> value: address
};

struct PeerRequest {
  PeerCall call = PeerCall::kStart;
  uint64_t value = 0;
  uint64_t count = 0;
  unsigned char byte = 0;
  unsigned char data[64] = {};
};

struct PeerReply {
  CUresult result = CUDA_ERROR_UNKNOWN;
  uint64_t value = 0;
  unsigned char data[64] = {};
};

class Peer {
 public:
  Peer();
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // Sends a request, and `descriptor` with it if that is not negative. *received is a descriptor
  // that the reply contains, which the caller closes.
  PeerReply Ask(const PeerRequest& request, int descriptor = -1, int* received = nullptr);

  // Sends a request that needs only these arguments.
  PeerReply Ask(PeerCall call, uint64_t value = 0, uint64_t count = 0, unsigned char byte = 0) {
    return Ask(PeerRequest{call, value, count, byte, {}});
  }

  void Kill();  // SIGKILL, and waits for its end
  pid_t process() const { return process_; }

 private:
  pid_t process_ = -1;
  int socket_ = -1;
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_TESTS_SIMULATOR_CONTRACT_PEER_H_
