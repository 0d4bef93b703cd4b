// Garbage finds the objects that are reachable only from one another, without changing any.
//
// Idea: this is the method of Python's collector. For each object the references from other
// examined objects are subtracted from its reference count. If references are left, the object is
// held from outside, and so is every object that it refers to. All remaining objects are dead.
//
// Ownership: its memory, which is mapped; borrowed pointers. Threads: the caller holds the
// interpreter's lock all the time, with the collector off. Errors: is_complete() is false if there
// were too many objects, or not enough time. Units: none.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_GARBAGE_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_GARBAGE_H_

#include <cstdint>
#include <vector>

#include "adapters/torch/census/cpython.h"
#include "adapters/torch/census/deadline.h"

namespace vramstow::torch_census {

class Garbage {
 public:
  // `generations` is the number of generations to examine, the youngest first.
  Garbage(int generations, const Deadline& deadline);
  ~Garbage();
  Garbage(const Garbage&) = delete;
  Garbage& operator=(const Garbage&) = delete;

  bool is_complete() const { return is_complete_; }
  bool is_late() const { return is_late_; }  // it ran out of time
  // Returns the dead objects, in the collector's order.
  const std::vector<Object*>& dead() const { return dead_; }

 private:
  static constexpr uint64_t kStepsBetweenLooks = 4096;
  static constexpr int64_t kIsHeld = -1;

  struct Count {
    Object* object;
    int64_t references;  // the number of references from objects that are not examined
  };

  bool Gather(int generations);
  void SubtractOwnReferences();
  void FindHeld();
  bool IsLate();
  Count* Find(Object* object) const;
  static int SubtractReference(Object* child, void* self);
  static int Hold(Object* child, void* self);

  const Deadline deadline_;
  uint64_t steps_ = 0;
  bool is_late_ = false;
  bool is_complete_ = false;
  Count* counts_ = nullptr;
  uint64_t capacity_ = 0;  // a power of two
  std::vector<Object*> held_;
  std::vector<Object*> dead_;
};

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_GARBAGE_H_
