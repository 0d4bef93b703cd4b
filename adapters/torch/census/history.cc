#include "adapters/torch/census/history.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "adapters/torch/census/interpreter.h"

namespace vramstow::torch_census {
namespace {

// Returns the globals of a loaded module, or null.
Object* GlobalsOf(const char* module_name) {
  Object* module = PyDict_GetItemString(PyImport_GetModuleDict(), module_name);
  if (module == nullptr || PyType_IsSubtype(module->type, &PyModule_Type) == 0) return nullptr;
  return PyModule_GetDict(module);
}

bool IsOneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

// True for _5, the name of the result of cell 5.
bool IsNumbered(std::string_view name) {
  return name.size() > 1 && name.front() == '_' &&
         name.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

}  // namespace

History::History() {
  Object* globals = GlobalsOf("__main__");
  Object* sys = GlobalsOf("sys");
  if (globals == nullptr || sys == nullptr) return;
  // IPython binds both names in each kernel: the dict of results, and a method of its shell.
  Object* results = PyDict_GetItemString(globals, "_oh");
  Object* method = PyDict_GetItemString(globals, "get_ipython");
  if (results == nullptr || !Is(results, kIsDict)) return;
  if (method == nullptr || method->type != &PyMethod_Type) return;
  globals_ = globals;
  sys_ = sys;
  shell_ = PyMethod_Self(method);
  results_ = results;
}

bool History::IsName(const Object* dict, Object* name) const {
  const std::string_view text = TextOf(name);
  if (dict == sys_) {
    return IsOneOf(text, {"last_exc", "last_value", "last_traceback", "displayhook"});
  }
  return IsOneOf(text, {"_", "__", "___", "_oh", "Out"}) || IsNumbered(text);
}

void History::Visit(Object* dict, bool is_of_history, Visitor visitor, void* context) const {
  intptr_t place = 0;
  Object* name = nullptr;
  Object* value = nullptr;
  while (PyDict_Next(dict, &place, &name, &value) != 0) {
    if (IsName(dict, name) != is_of_history) continue;
    if (visitor(value, context) != 0) return;
  }
}

Object* History::NameOf(Object* dict, const Object* held) const {
  Object* of_history = nullptr;
  intptr_t place = 0;
  Object* name = nullptr;
  Object* value = nullptr;
  while (PyDict_Next(dict, &place, &name, &value) != 0) {
    if (value != held) continue;
    if (!IsName(dict, name)) return name;
    if (of_history == nullptr) of_history = name;
  }
  return of_history;
}

}  // namespace vramstow::torch_census
