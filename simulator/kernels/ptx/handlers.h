// Templates for the functions that execute instructions.
//
// Idea: an operation is a struct with a static function Of. Apply makes the function that reads the
// operands, calls Of and stores the result. The Pick functions choose the operation for a type.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_PTX_HANDLERS_H_
#define VRAMSTOW_SIMULATOR_KERNELS_PTX_HANDLERS_H_

#include <cstdint>
#include <type_traits>

#include "simulator/kernels/ptx/thread.h"

namespace vramstow::simulator::ptx {

inline bool DoNothing(const Instruction& /*i*/, Thread& /*thread*/) { return true; }
// Stops the thread until all threads that take part have reached the instruction.
inline bool WaitHere(const Instruction& i, Thread& thread) { return thread.Wait(i); }

// Executes an operation whose result and sources have the same type.
template <typename T, typename Operation>
bool Apply(const Instruction& i, Thread& thread) {
  if constexpr (std::is_invocable_v<decltype(&Operation::Of), T>) {
    thread.Set<T>(i.out, Operation::Of(thread.Get<T>(i.in[0])));
  } else if constexpr (std::is_invocable_v<decltype(&Operation::Of), T, T>) {
    thread.Set<T>(i.out, Operation::Of(thread.Get<T>(i.in[0]), thread.Get<T>(i.in[1])));
  } else {
    thread.Set<T>(i.out, Operation::Of(thread.Get<T>(i.in[0]), thread.Get<T>(i.in[1]),
                                       thread.Get<T>(i.in[2])));
  }
  return true;
}

template <template <typename> class Operation>
Handler PickSigned(Type type) {
  if (type.kind != 's') return nullptr;
  if (type.bits == 16) return Apply<int16_t, Operation<int16_t>>;
  if (type.bits == 32) return Apply<int32_t, Operation<int32_t>>;
  if (type.bits == 64) return Apply<int64_t, Operation<int64_t>>;
  return nullptr;
}

template <template <typename> class Operation>
Handler PickUnsigned(Type type) {
  if (type.kind != 'u') return nullptr;
  if (type.bits == 16) return Apply<uint16_t, Operation<uint16_t>>;
  if (type.bits == 32) return Apply<uint32_t, Operation<uint32_t>>;
  if (type.bits == 64) return Apply<uint64_t, Operation<uint64_t>>;
  return nullptr;
}

template <template <typename> class Operation>
Handler PickInteger(Type type) {
  const Handler handler = PickSigned<Operation>(type);
  return handler != nullptr ? handler : PickUnsigned<Operation>(type);
}

template <template <typename> class Operation>
Handler PickBits(Type type) {
  if (type.kind == 'b') type.kind = 'u';
  return PickUnsigned<Operation>(type);
}

}  // namespace vramstow::simulator::ptx

#endif  // VRAMSTOW_SIMULATOR_KERNELS_PTX_HANDLERS_H_
