// CallerTable finds the library that contains an address, and the library that made a call.
//
// Idea: a hooked function's return address shows which library made the call. If that library only
// passes calls on (a CUDA runtime), a short unwinding of the stack finds its caller. The dynamic
// linker finds the library of an address without its lock if glibc supports that (2.35), and each
// library is examined once: path, base, build id.
//
// Ownership: CallerTable owns copies of all paths. It is made to live in static storage (constexpr
// constructor, no destructor work) and never forgets a library. Threads: any number at once,
// without a lock or the heap. If another thread is just writing the entry of a library, a second
// entry is made; null is returned only if the table is full. Errors: null if the address is in no
// library (code made at run time) or the table is full. Units: addresses.
//
// Limits: if a library is unloaded and another one is loaded at exactly the same address with the
// same size, they are distinguished by the positions of their unwinding tables and by their names,
// not by their contents.
#ifndef VRAMSTOW_TRACER_CAPTURE_CALLER_H_
#define VRAMSTOW_TRACER_CAPTURE_CALLER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace vramstow {

// The roles that a library can have in a call.
enum class CallerRole : uint8_t {
  kApplication,  // any other library: the caller that is searched for
  kVramstow,
  kDriver,   // libcuda.so*
  kRuntime,  // libcudart*, the CUDA runtime as a shared library
};

inline constexpr size_t kMaxCallerObjects = 1024;
inline constexpr size_t kMaxCallerPath = 512;
inline constexpr size_t kMaxBuildId = 41;

// A library, or the program itself. Its fields do not change after the object was returned by a
// function.
struct CallerObject {
  uint32_t index;  // less than kMaxCallerObjects; an index for tables
  CallerRole role;
  uintptr_t base;              // the address where it is mapped
  char path[kMaxCallerPath];   // the path; for the program the target of /proc/self/exe
  char build_id[kMaxBuildId];  // lower-case hex, or empty
};

class CallerTable {
 public:
  constexpr CallerTable() = default;
  CallerTable(const CallerTable&) = delete;
  CallerTable& operator=(const CallerTable&) = delete;

  // Returns the library that contains an address.
  const CallerObject* Find(const void* address);

  // Returns the library that contains the call before a return address, whatever its role is.
  const CallerObject* FindDirect(const void* return_address);

  // Returns the library that a call comes from: the one of `return_address` or, if its role is not
  // kApplication, the nearest caller with that role. Only a few frames are examined; if none of
  // them is an application's, the last library is returned. Unwinds the calling thread's own stack.
  const CallerObject* FindCaller(const void* return_address);

  // Returns the number of libraries found so far, which all valid indexes are less than.
  size_t size() const;
  // Returns the library with this index; null while its entry is being written.
  const CallerObject* at(size_t index) const;

 private:
  struct Slot {
    std::atomic<uint64_t> key{0};  // 0 if free, kBusy while written, else the identity
    CallerObject object{};
  };
  static constexpr uint64_t kBusy = 1;

  // Slots of an open-addressing table. The objects are stored in the slots, so their addresses
  // never change.
  Slot slots_[kMaxCallerObjects] = {};
  std::atomic<uint32_t> order_[kMaxCallerObjects] = {};  // slot + 1, by index
  std::atomic<uint32_t> count_{0};
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_CAPTURE_CALLER_H_
