// ObjectArrays: NumPy's arrays of Python objects, as lists and columns of pandas are made of them.
//
// Idea: NumPy's arrays do not tell the collector what they hold, so a search by tp_traverse ends
// there. Their head is read where it lies: the fields are the same in NumPy 1 and 2. Source:
// numpy/core/include/numpy/ndarraytypes.h, PyArrayObject_fields and PyArray_Descr.
//
// Ownership: borrowed pointers, valid while the interpreter's lock is held. Threads: one. Errors:
// where NumPy is not loaded, nothing is such an array. Units: none.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_OBJECT_ARRAYS_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_OBJECT_ARRAYS_H_

#include <cstdint>

#include "adapters/torch/census/cpython.h"

namespace vramstow::torch_census {

class ObjectArrays {
 public:
  ObjectArrays();

  // Whether it is an array, of objects or of numbers.
  bool IsArray(const Object* object) const { return type_ != nullptr && object->type == type_; }
  // What an array holds: its objects in the order in which they lie, or the array that it shows a
  // part of. Ends when `visitor` does not return 0.
  static void Visit(Object* array, Visitor visitor, void* context);
  // The place of an object in an array; -1: it is not there.
  static intptr_t IndexOf(Object* array, const Object* wanted);

 private:
  const Type* type_ = nullptr;
};

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_OBJECT_ARRAYS_H_
