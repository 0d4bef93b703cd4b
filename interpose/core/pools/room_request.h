// RoomRequest lets a thread that lacks memory wait until other processes have made room (--share).
//
// Idea: the thread adds its bytes to the sum of all waiting requests and sleeps. The sharer's
// thread (interpose/core/share) publishes that sum. It grants all requests at once, and refuses the
// largest one if the sum is too large, so that smaller ones can still be served.
//
// Ownership: static storage. Threads: any asks; one answers. Errors: Ask returns false if no room
// can be made. After a fork the child calls Reset. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_POOLS_ROOM_REQUEST_H_
#define VRAMSTOW_INTERPOSE_CORE_POOLS_ROOM_REQUEST_H_

#include <atomic>
#include <cstdint>

namespace vramstow {

class RoomRequest {
 public:
  // The most threads that wait at once; further requests are refused.
  static constexpr int kMaxWaiting = 64;

  constexpr RoomRequest() = default;
  RoomRequest(const RoomRequest&) = delete;
  RoomRequest& operator=(const RoomRequest&) = delete;

  // Waits for an answer; `bytes` is not 0. Returns true if there is room now, and false at once if
  // nobody answers.
  bool Ask(uint64_t bytes);

  // From now on, or until StopAnswering, requests are answered. `wake` is called for each request.
  void StartAnswering(void (*wake)(void*), void* context);
  // Refuses all requests, now and later.
  void StopAnswering();
  // The bytes of all requests that wait.
  uint64_t wanted_bytes() const { return wanted_bytes_.load(std::memory_order_acquire); }
  void GrantAll();
  // Does nothing if no request waits.
  void RefuseLargest();
  void Reset();

 private:
  static constexpr uint64_t kRefused = ~uint64_t{0};
  static constexpr uint64_t kGranted = kRefused - 1;

  std::atomic<uint64_t>* Claim(uint64_t bytes);
  void Answer(std::atomic<uint64_t>* place, uint64_t answer);
  void WakeAll();

  std::atomic<uint64_t> wanted_bytes_{0};
  std::atomic<bool> answers_{false};
  std::atomic<uint32_t> changes_{0};  // of everything that waiting threads look at
  // The bytes of each waiting thread, or the answer that it has not read yet; 0 if the place is
  // free. Who writes an answer subtracts the bytes from the sum, so no request is answered twice.
  std::atomic<uint64_t> waiting_[kMaxWaiting] = {};
  void (*wake_)(void*) = nullptr;
  void* context_ = nullptr;
};

// The requests of this process, for each GPU.
class RoomRequests {
 public:
  static constexpr int kMaxDevices = 16;

  constexpr RoomRequests() = default;
  RoomRequests(const RoomRequests&) = delete;
  RoomRequests& operator=(const RoomRequests&) = delete;

  // Returns the requests for the GPU with this number, or null if it cannot be shared.
  constexpr RoomRequest* OrNull(int device) {
    return device >= 0 && device < kMaxDevices ? &requests_[device] : nullptr;
  }

 private:
  RoomRequest requests_[kMaxDevices];
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_ROOM_REQUEST_H_
