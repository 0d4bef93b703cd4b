#include "base/demangle.h"

#include <cxxabi.h>

#include <cstdlib>

namespace vramstow {

std::string Demangled(const char* name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  if (text == nullptr) return name;
  std::string result = text;
  std::free(text);
  return result;
}

}  // namespace vramstow
