// ObjectArrays reads NumPy's arrays of Python objects. For example, columns of pandas consist of
// such arrays.
//
// Idea: NumPy's arrays do not report their contents to the collector, so a search by tp_traverse
// does not get past an array. The head of an array is read in place: its fields are the same in
// NumPy 1 and 2. Source: numpy/core/include/numpy/ndarraytypes.h, PyArrayObject_fields and
// PyArray_Descr.
//
// Ownership: borrowed pointers, valid while the interpreter's lock is held. Threads: one. Errors:
// if NumPy is not loaded, no object is such an array. Units: none.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_OBJECT_ARRAYS_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_OBJECT_ARRAYS_H_

#include <cstdint>

#include "adapters/torch/census/cpython.h"

namespace vramstow::torch_census {

class ObjectArrays {
 public:
  ObjectArrays();

  // True if the object is an array, of objects or of numbers.
  bool IsArray(const Object* object) const { return type_ != nullptr && object->type == type_; }
  // Visits the contents of an array: its objects in the order of their addresses, or the array of
  // which it is a view. Ends when `visitor` does not return 0.
  static void Visit(Object* array, Visitor visitor, void* context);
  // Returns the index of an object in an array; -1 if it is not there.
  static intptr_t IndexOf(Object* array, const Object* wanted);

 private:
  const Type* type_ = nullptr;
};

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_OBJECT_ARRAYS_H_
