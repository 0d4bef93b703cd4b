#include "adapters/torch/census/qualified_name.h"

namespace vramstow::torch_census {
namespace {

// Returns the function's own qualified name. Reading it runs no code of the program.
std::string OwnNameOf(Object* function) {
  Object* name = PyObject_GetAttrString(function, "__qualname__");
  if (name == nullptr) {
    PyErr_Clear();
    return {};
  }
  std::string text(TextOf(name));
  Py_DecRef(name);
  return text;
}

// Returns the first argument of a running function. If an inner function uses it, it lies in a
// cell.
Object* FirstArgumentOf(const Frame& frame, const Code& code) {
  if (code.variables() == 0) return nullptr;
  Object* first = frame.variable(0);
  for (int i = 1; first == nullptr && i < code.variables(); ++i) {
    Object* cell = frame.variable(i);
    if (cell == nullptr || cell->type != &PyCell_Type) continue;
    if (code.variable(i) == code.variable(0)) return reinterpret_cast<Cell*>(cell)->content;
  }
  return first;
}

// Returns the function behind an attribute of a class.
Object* FunctionIn(Object* value) {
  const Type* type = value->type;
  if (type == &PyClassMethod_Type || type == &PyStaticMethod_Type || type == &PyProperty_Type) {
    value = reinterpret_cast<Wrapper*>(value)->function;
  }
  return value != nullptr && value->type == &PyFunction_Type ? value : nullptr;
}

// Returns the method of the object's classes that has this code.
Object* MethodOf(Object* object, const Code& code) {
  const auto* type = Is(object, kIsType) ? reinterpret_cast<Type*>(object) : object->type;
  if (type->order == nullptr || !Is(type->order, kIsTuple)) return nullptr;
  const std::string name(code.name());
  const auto* order = reinterpret_cast<const Tuple*>(type->order);
  for (intptr_t i = 0; i < order->count; ++i) {
    Object* dict = reinterpret_cast<const Type*>(order->items[i])->dict;
    Object* value = dict == nullptr ? nullptr : PyDict_GetItemString(dict, name.c_str());
    Object* function = value == nullptr ? nullptr : FunctionIn(value);
    if (function != nullptr && PyFunction_GetCode(function) == code.object()) return function;
  }
  return nullptr;
}

}  // namespace

std::string NameOfFunction(Object* function) {
  std::string name;
  if (Interpreter::has_short_names()) name = OwnNameOf(function);
  if (name.empty()) name = Code(PyFunction_GetCode(function)).name();
  return name;
}

std::string NameOfFrame(const Frame& frame) {
  const Code code = frame.code();
  if (Interpreter::has_short_names()) {
    Object* first = FirstArgumentOf(frame, code);
    Object* method = first == nullptr ? nullptr : MethodOf(first, code);
    if (method != nullptr) return NameOfFunction(method);
  }
  return std::string(code.name());
}

}  // namespace vramstow::torch_census
