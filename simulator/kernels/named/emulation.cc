#include "simulator/kernels/named/emulation.h"

#include <cxxabi.h>

#include <cstdlib>

#include "simulator/kernels/named/kernels.h"

namespace vramstow::simulator {

std::string ReadableName(std::string_view kernel) {
  std::string name(kernel);
  if (!kernel.starts_with("_Z")) return name;
  int status = 0;
  char* demangled = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string readable = status == 0 && demangled != nullptr ? demangled : name;
  free(demangled);
  return readable;
}

EmulationPointer MakeEmulation(std::string_view kernel) {
  const std::string name = Simplify(ReadableName(kernel));
  const TemplateName parts = ParseKernel(name);
  using Maker = EmulationPointer (*)(const TemplateName&);
  constexpr Maker kMakers[] = {MakeDistribution, MakeDropout, MakeRadixSort, MakeBlas};
  for (const Maker maker : kMakers) {
    if (EmulationPointer emulation = maker(parts)) return emulation;
  }
  return nullptr;
}

}  // namespace vramstow::simulator
