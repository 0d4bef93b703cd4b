// RoomRequest lets a thread that lacks memory wait until other processes have made room (--share).
//
// Idea: the thread adds the bytes to the sum of all waiting requests and sleeps. The sharer's
// thread (interpose/core/share) publishes that sum, and answers all requests at once.
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
  constexpr RoomRequest() = default;
  RoomRequest(const RoomRequest&) = delete;
  RoomRequest& operator=(const RoomRequest&) = delete;

  // Waits for an answer. Returns true if there is room now, and false at once if nobody answers.
  bool Ask(uint64_t bytes);

  // From now on, or until StopAnswering, requests are answered. `wake` is called for each request.
  void StartAnswering(void (*wake)(void*), void* context);
  // Refuses all requests, now and later.
  void StopAnswering();
  // The bytes of all requests that wait.
  uint64_t wanted_bytes() const { return wanted_bytes_.load(std::memory_order_acquire); }
  void Answer(bool is_granted);
  void Reset();

 private:
  std::atomic<uint64_t> wanted_bytes_{0};
  std::atomic<bool> answers_{false};
  // The number of answers so far times two, plus one if the last one was a refusal.
  std::atomic<uint32_t> answer_{0};
  void (*wake_)(void*) = nullptr;
  void* context_ = nullptr;
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_POOLS_ROOM_REQUEST_H_
