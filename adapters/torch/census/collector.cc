#include "adapters/torch/census/collector.h"

namespace vramstow::torch_census {
namespace {

// Functions of Python's gc module, used with CPython 3.9, which has no PyGC_Disable. A pointer is
// null if its function was not looked up yet, or is not needed.
Object* enable_function = nullptr;
Object* disable_function = nullptr;
Object* is_enabled_function = nullptr;

Object* FunctionOf(Object* module, const char* name) {
  Object* function = PyObject_GetAttrString(module, name);
  if (function == nullptr) PyErr_Clear();
  return function != nullptr && function->type == &PyCFunction_Type ? function : nullptr;
}

// Calls the Python function. Returns true if its result is True.
bool Ask(Object* function) {
  if (function == nullptr) return false;
  Object* result = PyObject_CallFunction(function, nullptr);
  if (result == nullptr) {
    PyErr_Clear();
    return false;
  }
  const bool is_true = result == &_Py_TrueStruct;
  Py_DecRef(result);
  return is_true;
}

}  // namespace

bool Collector::Look() {
  if (PyGC_Disable != nullptr || disable_function != nullptr) return true;
  Object* module = PyImport_ImportModule("gc");
  if (module == nullptr) {
    PyErr_Clear();
    return false;
  }
  enable_function = FunctionOf(module, "enable");
  is_enabled_function = FunctionOf(module, "isenabled");
  if (enable_function == nullptr || is_enabled_function == nullptr) return false;
  disable_function = FunctionOf(module, "disable");
  return disable_function != nullptr;
}

bool Collector::is_on() {
  return PyGC_IsEnabled != nullptr ? PyGC_IsEnabled() != 0 : Ask(is_enabled_function);
}

bool Collector::SwitchOff() {
  if (PyGC_Disable != nullptr) return PyGC_Disable() != 0;
  const bool was_on = is_on();
  if (was_on) Ask(disable_function);
  return was_on;
}

void Collector::SwitchOn() {
  if (PyGC_Enable != nullptr) {
    PyGC_Enable();
  } else {
    Ask(enable_function);
  }
}

}  // namespace vramstow::torch_census
