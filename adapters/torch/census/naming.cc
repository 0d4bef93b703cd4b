#include "adapters/torch/census/naming.h"

#include <algorithm>

namespace vramstow::torch_census {
namespace {

constexpr intptr_t kMaxLookedAt = 200'000;  // entries of one container

intptr_t IndexIn(Object* const* items, intptr_t count, const Object* wanted) {
  for (intptr_t i = 0; i < std::min(count, kMaxLookedAt); ++i) {
    if (items[i] == wanted) return i;
  }
  return -1;
}

int AddChild(Object* child, void* children) {
  if (child != nullptr) static_cast<std::vector<Object*>*>(children)->push_back(child);
  return 0;
}

}  // namespace

std::string_view NameOfType(const Type* type) {
  const std::string_view name = type->name;
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

Object* AttributesOf(Object* object) {
  Object* dict = PyObject_GenericGetDict(object, nullptr);
  if (dict == nullptr) {
    PyErr_Clear();
    return nullptr;
  }
  Py_DecRef(dict);  // the object still holds it
  return dict;
}

Object* KeyOf(Object* dict, const Object* wanted) {
  intptr_t place = 0;
  Object* key = nullptr;
  Object* value = nullptr;
  for (intptr_t i = 0; i < kMaxLookedAt && PyDict_Next(dict, &place, &key, &value) != 0; ++i) {
    if (value == wanted) return key;
  }
  return nullptr;
}

bool IsKeyOf(Object* dict, const Object* wanted) {
  intptr_t place = 0;
  Object* key = nullptr;
  Object* value = nullptr;
  for (intptr_t i = 0; i < kMaxLookedAt && PyDict_Next(dict, &place, &key, &value) != 0; ++i) {
    if (key == wanted) return true;
  }
  return false;
}

std::vector<Object*> ChildrenOf(Object* object) {
  std::vector<Object*> children;
  if (object->type->traverse != nullptr) object->type->traverse(object, &AddChild, &children);
  return children;
}

const char* FieldOf(Object* holder, const Object* held) {
  for (const Type* type = holder->type; type != nullptr; type = type->base) {
    for (const Field* field = type->fields; field != nullptr && field->name != nullptr; ++field) {
      if (field->type != kIsObject && field->type != kIsSlot) continue;
      if (field->offset < static_cast<intptr_t>(sizeof(Object)) ||
          field->offset + static_cast<intptr_t>(sizeof(Object*)) > holder->type->basic_size) {
        continue;
      }
      const auto* place = reinterpret_cast<const char*>(holder) + field->offset;
      if (*reinterpret_cast<Object* const*>(place) == held) return field->name;
    }
  }
  return nullptr;
}

intptr_t IndexOf(Object* sequence, const Object* wanted) {
  if (Is(sequence, kIsList)) {
    const auto* list = reinterpret_cast<const List*>(sequence);
    return IndexIn(list->items, list->count, wanted);
  }
  const auto* tuple = reinterpret_cast<const Tuple*>(sequence);
  return IndexIn(tuple->items, tuple->count, wanted);
}

}  // namespace vramstow::torch_census
