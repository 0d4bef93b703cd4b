// Generations: all objects that Python's collector knows, where it keeps them.
//
// Idea: Python can list them (gc.get_objects), but that makes a list which holds them all, and runs
// audit hooks. The collector's own lists are rings; a container that was made just now is the last
// of the first ring, so the ring's head follows it, and the other heads lie behind that one. This
// is so in CPython 3.9 to 3.13, and is checked before it is used.
//
// Ownership: borrowed pointers. Threads: who calls holds the interpreter's lock. Errors: not known.
// Units: none.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_GENERATIONS_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_GENERATIONS_H_

#include <cstdint>

#include "adapters/torch/census/cpython.h"

namespace vramstow::torch_census {

class Generations {
 public:
  static constexpr int kCount = 3;

  // Finds them once. False: this Python keeps them in another way.
  static bool Look();

  // Whether Python's collector is at work: it has called code of the program, and waits for it.
  static bool AreCollected();

  // Calls visit(object) for each object of the first `count` generations, until it returns false.
  // False: it did.
  template <typename Visit>
  static bool ForEach(int count, Visit visit) {
    for (int i = 0; i < count; ++i) {
      const Link* head = HeadOf(i);
      for (const Link* link = Next(head); link != head; link = Next(link)) {
        // An object lies behind its link.
        if (!visit(reinterpret_cast<Object*>(const_cast<Link*>(link + 1)))) return false;
      }
    }
    return true;
  }

 private:
  // Include/internal/pycore_gc.h: PyGC_Head and gc_generation. Outside of a collection the lower
  // bits of `next` are free.
  struct Link {
    uintptr_t next;
    uintptr_t previous;
  };
  struct Generation {
    Link head;
    int threshold;
    int count;
  };

  static const Link* Next(const Link* link) {
    return reinterpret_cast<const Link*>(link->next & ~uintptr_t{3});
  }
  static const Link* HeadOf(int number);

  static const Generation* first_;
};

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_GENERATIONS_H_
