#include "adapters/torch/census/object_arrays.h"

#include <cstddef>
#include <cstring>

namespace vramstow::torch_census {
namespace {

struct Elements {
  Object head;
  Object* type;
  char kind;
};

struct Array {
  Object head;
  Object** data;
  int dimensions;
  const intptr_t* lengths;
  const intptr_t* strides;
  Object* base;
  const Elements* elements;
  int flags;
};
static_assert(offsetof(Elements, kind) == 24 && offsetof(Array, elements) == 56);

constexpr int kIsInOneOrder = 3;  // C or Fortran order, without gaps
constexpr int kMaxDimensions = 64;

bool IsOfObjects(const Array* array) {
  return array->elements != nullptr && array->elements->kind == 'O' && array->data != nullptr;
}

intptr_t CountOf(const Array* array) {
  if ((array->flags & kIsInOneOrder) == 0 || array->dimensions > kMaxDimensions) return 0;
  intptr_t count = 1;
  for (int i = 0; i < array->dimensions; ++i) count *= array->lengths[i];
  return count;
}

}  // namespace

ObjectArrays::ObjectArrays() {
  Object* numpy = PyDict_GetItemString(PyImport_GetModuleDict(), "numpy");
  if (numpy == nullptr || PyType_IsSubtype(numpy->type, &PyModule_Type) == 0) return;
  Object* names = PyModule_GetDict(numpy);
  Object* found = names == nullptr ? nullptr : PyDict_GetItemString(names, "ndarray");
  if (found == nullptr || !Is(found, kIsType)) return;
  const auto* type = reinterpret_cast<const Type*>(found);
  const bool is_known = std::strcmp(type->name, "numpy.ndarray") == 0 &&
                        type->basic_size >= static_cast<intptr_t>(sizeof(Array)) &&
                        (type->flags & kHasCollector) == 0;
  if (is_known) type_ = type;
}

void ObjectArrays::Visit(Object* object, Visitor visitor, void* context) {
  const auto* array = reinterpret_cast<const Array*>(object);
  if (!IsOfObjects(array)) return;
  if (array->base != nullptr && visitor(array->base, context) != 0) return;
  const intptr_t count = CountOf(array);
  for (intptr_t i = 0; i < count; ++i) {
    if (array->data[i] != nullptr && visitor(array->data[i], context) != 0) return;
  }
}

intptr_t ObjectArrays::IndexOf(Object* object, const Object* wanted) {
  const auto* array = reinterpret_cast<const Array*>(object);
  const intptr_t count = IsOfObjects(array) ? CountOf(array) : 0;
  for (intptr_t i = 0; i < count; ++i) {
    if (array->data[i] == wanted) return i;
  }
  return -1;
}

}  // namespace vramstow::torch_census
