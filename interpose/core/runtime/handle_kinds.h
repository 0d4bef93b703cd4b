// HandleKinds stores, for each handle of a function, of which kind it is.
//
// Idea: a launch accepts a function of a context (CUfunction) and a kernel of a library (CUkernel)
// alike. Every other call accepts only one of the two kinds, and a driver that is given the wrong
// kind may crash instead of refusing it. The kind cannot be read from a handle, so vramstow watches
// the calls that return handles. If no watched call returned a handle, its kind is unknown, and
// vramstow does not ask the driver about it. The handles of a module or library are forgotten when
// it is unloaded, because the driver may reuse them.
//
// Ownership: static storage, constant-initialised. Threads: any, without a lock. Two threads that
// store the same handle at once may store it twice, with the same kind. Errors: if the table is
// full, the kind of the handle is unknown. Units: none.
#ifndef VRAMSTOW_INTERPOSE_CORE_RUNTIME_HANDLE_KINDS_H_
#define VRAMSTOW_INTERPOSE_CORE_RUNTIME_HANDLE_KINDS_H_

#include <atomic>
#include <cstdint>

namespace vramstow {

enum class HandleKind : uint16_t {
  kUnknown,
  kFunction,
  kKernel,
  kModule,  // belongs to a library and ends with it
};

class HandleKinds {
 public:
  constexpr HandleKinds() = default;
  HandleKinds(const HandleKinds&) = delete;
  HandleKinds& operator=(const HandleKinds&) = delete;

  // Records that the driver returned this handle. `from` is the module, library or kernel that it
  // belongs to.
  void Note(const void* handle, HandleKind kind, const void* from);
  HandleKind KindOf(const void* handle) const;

  // Forgets the handles of a module or library. Called before it is unloaded.
  void ForgetOf(const void* owner);
  // Forgets the functions of all contexts. Called when a context has ended. It is not recorded
  // which context a function belonged to, so none is retained.
  void ForgetFunctions();

 private:
  static constexpr unsigned kPlaceBits = 14;
  static constexpr uint32_t kPlaces = 1U << kPlaceBits;
  static constexpr uint32_t kLooks = 16;
  static constexpr unsigned kKindBits = 16;  // the rest of a word is the handle
  // Values of a slot without a handle. kBeingWritten means that a thread is writing the slot; the
  // other value means that its handle was forgotten.
  static constexpr uint64_t kBeingWritten = 0xFFFF;
  static constexpr uint64_t kForgotten = 0xFFFE;

  struct Entry {
    std::atomic<uint64_t> word{0};
    std::atomic<const void*> owner{nullptr};  // null if unknown; then it ends with any owner
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
