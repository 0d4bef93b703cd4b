// Parses C++ names as text: finds a template's name, its arguments, and a lambda's parameter types.
//
// Names are parsed in the form that demanglers write, after Simplify has removed the namespaces of
// PyTorch and "(anonymous namespace)", so that a kernel has the same name wherever it was defined.
//
// Ownership: views point into the caller's text. Threads: no state. Errors: a name that cannot be
// parsed gives empty parts.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_NAMED_NAME_H_
#define VRAMSTOW_SIMULATOR_KERNELS_NAMED_NAME_H_

#include <string>
#include <string_view>
#include <vector>

namespace vramstow::simulator {

// Removes the namespaces "at::native::", "c10::", "(anonymous namespace)::" and others.
std::string Simplify(std::string_view demangled);

// The parts of "head<a, b<c>>(p, q)": the head, the template arguments a and b<c>, and the rest.
struct TemplateName {
  std::string_view head;
  std::vector<std::string_view> arguments;
  std::string_view rest;
};
TemplateName ParseTemplate(std::string_view text);

// Splits at the commas outside of all brackets. Blanks around the parts are removed.
std::vector<std::string_view> SplitList(std::string_view text);

// Parses a kernel's demangled name, without its return type and its parameter list.
TemplateName ParseKernel(std::string_view simplified);

// A functor: "MulFunctor<float>", or a lambda within a function,
// "f<T>(…)::{lambda()#2}::operator()() const::{lambda(float, bool)#1}".
struct FunctorName {
  std::string_view head;                    // MulFunctor, or f
  std::vector<std::string_view> arguments;  // of the template
  int number = 0;                           // number of the lambda; 0: not a lambda
};
FunctorName ParseFunctor(std::string_view text);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_KERNELS_NAMED_NAME_H_
