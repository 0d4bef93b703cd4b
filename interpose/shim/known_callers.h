// Remembers which function a caller got that sees a copy of a library of its own, for functions
// that are called often.
//
// Idea: a linked caller whose copy the program does not see is looked up at its first call. The
// next calls from the same place get the same function, without the dynamic linker. The copy stays
// loaded from then on (KeepLoaded), so that a place that is reached again never leads nowhere.
//
// Ownership: static storage, constant-initialised. Threads: any, without a lock. Errors: a function
// with more callers than places has the last ones looked up each time. Units: addresses.
#ifndef VRAMSTOW_INTERPOSE_SHIM_KNOWN_CALLERS_H_
#define VRAMSTOW_INTERPOSE_SHIM_KNOWN_CALLERS_H_

namespace vramstow {

class KnownCallers {
 public:
  // Null: not known.
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
    const void* caller;  // where a call returns to; null: nobody
    void* target;        // null: about to be stored
  };
  Place places_[kPlaces];
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_SHIM_KNOWN_CALLERS_H_
