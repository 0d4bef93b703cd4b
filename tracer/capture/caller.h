// Who called: from an address in the code to the library that it lies in.
//
// Idea: a hooked function's return address shows which library made the call; where that is only a
// middleman (a CUDA runtime), a short unwinding of the stack finds who called the middleman. The
// library of an address is asked from the dynamic linker without its lock where glibc can do that
// (2.35), and each library is looked at once: path, base, build id.
//
// Ownership: CallerTable owns copies of all paths, in place; it is made to live in static storage
// (constexpr constructor, no destructor work) and never forgets a library. Threads: any number at
// once; no lock, no heap; a thread that meets a library which another thread is just writing down
// gets null for that call only if the table is full. Errors: null where the address is in no
// library (code made at run time) or the table is full. Units: addresses.
//
// Limits: a library that is unloaded and another that is then loaded at exactly the same place with
// the same size are distinguished by their unwinding tables and names' places, not by their
// contents.
#ifndef VRAMSTOW_TRACER_CAPTURE_CALLER_H_
#define VRAMSTOW_TRACER_CAPTURE_CALLER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace vramstow {

// The parts that a library can play in a call.
enum class CallerRole : uint8_t {
  kApplication,  // everybody else: who is looked for
  kVramstow,
  kDriver,   // libcuda.so*
  kRuntime,  // libcudart*, the CUDA runtime as a library of its own
};

inline constexpr size_t kMaxCallerObjects = 1024;
inline constexpr size_t kMaxCallerPath = 512;
inline constexpr size_t kMaxBuildId = 41;

// A library, or the program itself. Its fields do not change once it has been returned.
struct CallerObject {
  uint32_t index;  // 0, 1, … < kMaxCallerObjects: for tables about libraries
  CallerRole role;
  uintptr_t base;              // where it is mapped
  char path[kMaxCallerPath];   // of the program: what /proc/self/exe points to
  char build_id[kMaxBuildId];  // lower-case hex, or empty
};

class CallerTable {
 public:
  constexpr CallerTable() = default;
  CallerTable(const CallerTable&) = delete;
  CallerTable& operator=(const CallerTable&) = delete;

  // The library of an address.
  const CallerObject* Find(const void* address);

  // The library that holds the call before a return address, middleman or not.
  const CallerObject* FindDirect(const void* return_address);

  // The library that a call comes from: of `return_address`, or, where that is a middleman (any
  // role but kApplication), of the nearest caller that is none. Looks at no more than a few frames;
  // if they are all middlemen, the last of them is the answer. Unwinds the calling thread's own
  // stack.
  const CallerObject* FindCaller(const void* return_address);

  // Every library seen so far: index < size().
  size_t size() const;
  // Null while it is being written.
  const CallerObject* at(size_t index) const;

 private:
  struct Slot {
    std::atomic<uint64_t> key{0};  // 0: free; kBusy: being written; otherwise identity
    CallerObject object{};
  };
  static constexpr uint64_t kBusy = 1;

  // By open addressing. Objects lie in their slots, so that their places never change.
  Slot slots_[kMaxCallerObjects] = {};
  std::atomic<uint32_t> order_[kMaxCallerObjects] = {};  // slot + 1, by index
  std::atomic<uint32_t> count_{0};
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_CAPTURE_CALLER_H_
