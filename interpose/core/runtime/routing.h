// Routing decides which address a program gets when it looks up a function of the driver.
//
// Idea: a look-up of a hooked function returns its wrapper, whether the caller asked by exported
// name or by cuGetProcAddress. The answer includes the outcome of the look-up, for the interception
// report.
//
// Ownership: none. Threads: any, also while the process starts. Errors: if vramstow is not active,
// the answer is the driver's own address. Units: addresses.
#ifndef VRAMSTOW_INTERPOSE_CORE_RUNTIME_ROUTING_H_
#define VRAMSTOW_INTERPOSE_CORE_RUNTIME_ROUTING_H_

#include "interpose/core/runtime/core.h"
#include "interpose/core/runtime/hook_table.h"

namespace vramstow {

enum class LookUp : uint8_t {
  kLeftAlone,
  kReplaced,        // the answer is a wrapper
  kUnknownVersion,  // a hooked name with an address that is not in the table
  kOtherDriver,     // found in another driver library than the hooked one
};

struct Routed {
  void* address;
  LookUp outcome;
};

class Routing {
 public:
  using WrapperOf = void* (*)(Hook hook);

  constexpr Routing(Process& process, Driver& driver, WrapperOf wrapper_of)
      : process_(process), driver_(driver), wrapper_of_(wrapper_of) {}
  Routing(const Routing&) = delete;
  Routing& operator=(const Routing&) = delete;

  // Answers a look-up by exported name. VramstowCore::replace calls it.
  Routed Replace(unsigned hook, void* real, void* driver) const;

  // Replaces an answer of cuGetProcAddress. `flags` are those of the caller.
  Routed ReplaceProcAddress(const char* name, int version, unsigned long long flags,
                            void* real) const;

 private:
  bool IsWanted(Hook hook) const;
  bool IsWantedName(const char* name) const;

  Process& process_;
  Driver& driver_;
  const WrapperOf wrapper_of_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RUNTIME_ROUTING_H_
