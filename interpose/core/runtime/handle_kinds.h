// HandleKinds: what kind of handle a launch was given.
//
// Idea: launches take a function of a context (CUfunction) and a kernel of a library (CUkernel)
// alike. Every other call takes one of the two, and a driver that is given the other may crash
// instead of refusing it. A handle does not tell its kind, so the calls that hand handles out are
// watched, and a handle that nobody saw being handed out is of an unknown kind: nothing is asked
// about it. A module or library takes its handles with it: they are forgotten, because they may
// come back as others.
//
// Ownership: static storage, constant-initialised. Threads: any, without a lock. Two threads that
// are given the same handle at once may keep it twice, and both times the same. Errors: where there
// is no room, a handle is of an unknown kind. Units: none.
#ifndef VRAMSTOW_INTERPOSE_CORE_RUNTIME_HANDLE_KINDS_H_
#define VRAMSTOW_INTERPOSE_CORE_RUNTIME_HANDLE_KINDS_H_

#include <atomic>
#include <cstdint>

namespace vramstow {

enum class HandleKind : uint16_t {
  kUnknown,
  kFunction,
  kKernel,
  kModule,  // of a library: what it hands out goes with the library
};

class HandleKinds {
 public:
  constexpr HandleKinds() = default;
  HandleKinds(const HandleKinds&) = delete;
  HandleKinds& operator=(const HandleKinds&) = delete;

  // The driver handed it out. `from`: the module, library or kernel that it comes from.
  void Note(const void* handle, HandleKind kind, const void* from);
  HandleKind KindOf(const void* handle) const;

  // Before a module or library is unloaded.
  void ForgetOf(const void* owner);
  // A context ended, and its functions with it; which they were is not known.
  void ForgetFunctions();

 private:
  static constexpr unsigned kPlaceBits = 14;
  static constexpr uint32_t kPlaces = 1U << kPlaceBits;
  static constexpr uint32_t kLooks = 16;
  static constexpr unsigned kKindBits = 16;  // the rest of a word is the handle
  // Words of no handle: of a place that is being written, and of one that is free again.
  static constexpr uint64_t kBeingWritten = 0xFFFF;
  static constexpr uint64_t kForgotten = 0xFFFE;

  struct Entry {
    std::atomic<uint64_t> word{0};
    std::atomic<const void*> owner{nullptr};  // null: not known, so it goes with any
  };

  static uint64_t PlaceOf(const void* handle);
  const Entry* Find(const void* handle) const;
  const void* OwnerOf(const void* from) const;
  template <typename Gone>
  void Forget(Gone gone);

  Entry entries_[kPlaces] = {};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RUNTIME_HANDLE_KINDS_H_
