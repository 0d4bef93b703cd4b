// Generations finds all objects that Python's collector tracks, in the collector's own lists.
//
// Idea: gc.get_objects lists these objects, too, but it makes a list that holds all of them, and
// runs audit hooks. The collector's own lists are rings. A container that was just made is the last
// member of the first ring, so its successor is the head of that ring; the heads of the other rings
// follow in memory. This holds for CPython 3.9 to 3.13, and is checked before it is used.
//
// Ownership: borrowed pointers. Threads: the caller holds the interpreter's lock. Errors: Look
// returns false. Units: none.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_GENERATIONS_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_GENERATIONS_H_

#include <cstdint>

#include "adapters/torch/census/cpython.h"

namespace vramstow::torch_census {

class Generations {
 public:
  static constexpr int kCount = 3;

  // Finds the lists once. Returns false if this Python stores them in another way.
  static bool Look();

  // True if Python's collector is running. If it is, it has called code of the program (such as a
  // finalizer) and waits for that code.
  static bool AreCollected();

  // Calls visit(object) for each object of the first `count` generations, until visit returns
  // false. Returns false in that case.
  template <typename Visit>
  static bool ForEach(int count, Visit visit) {
    for (int i = 0; i < count; ++i) {
      const Link* head = HeadOf(i);
      for (const Link* link = Next(head); link != head; link = Next(link)) {
        // The object lies directly behind its link.
        if (!visit(reinterpret_cast<Object*>(const_cast<Link*>(link + 1)))) return false;
      }
    }
    return true;
  }

 private:
  // PyGC_Head and gc_generation of Include/internal/pycore_gc.h. Outside of a collection the lower
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
