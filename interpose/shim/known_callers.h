// KnownCallers stores which function each calling address gets, for functions that are called
// often.
//
// Idea: a process may contain several copies of a library. If a caller's own copy is not in the
// program's scope, the function is looked up at the first call. Later calls from the same address
// get the same function without the dynamic linker. That copy is never unloaded from then on
// (KeepLoaded), so a stored address remains valid.
//
// Ownership: static storage, constant-initialised. Threads: any, without a lock. Errors: when all
// slots of a function are in use, further callers are looked up each time. Units: addresses.
#ifndef VRAMSTOW_INTERPOSE_SHIM_KNOWN_CALLERS_H_
#define VRAMSTOW_INTERPOSE_SHIM_KNOWN_CALLERS_H_

namespace vramstow {

class KnownCallers {
 public:
  // Returns the function that was stored for this caller, or null if there is none.
  void* Find(const void* caller) {
    for (Place& place : places_) {
      const void* known = __atomic_load_n(&place.caller, __ATOMIC_RELAXED);
      if (known == caller) return __atomic_load_n(&place.target, __ATOMIC_ACQUIRE);
      if (known == nullptr) break;
    }
    return nullptr;
  }

  void Remember(const void* caller, void* target) {
    for (Place& place : places_) {
      const void* known = nullptr;
      if (!__atomic_compare_exchange_n(&place.caller, &known, caller, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED) &&
          known != caller) {
        continue;
      }
      __atomic_store_n(&place.target, target, __ATOMIC_RELEASE);
      return;
    }
  }

 private:
  static constexpr int kPlaces = 16;

  struct Place {
    const void* caller;  // the return address; null if the slot is free
    void* target;        // null until it is stored
  };
  Place places_[kPlaces];
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_SHIM_KNOWN_CALLERS_H_
