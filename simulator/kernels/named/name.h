// C++ names as text: enough grammar to find the template's name, its arguments, a lambda's
// parameter types.
//
// Names are taken apart in the form that demanglers write, after Simplify has dropped the
// namespaces of PyTorch and "(anonymous namespace)", so that the same kernel has the same name
// wherever it was defined.
//
// Ownership: views point into the text that was given. Threads: none of it has state. Errors: what
// does not parse gives empty parts.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_NAMED_NAME_H_
#define VRAMSTOW_SIMULATOR_KERNELS_NAMED_NAME_H_

#include <string>
#include <string_view>
#include <vector>

namespace vramstow::simulator {

// Drops the namespaces that say nothing: "at::native::", "c10::", "(anonymous namespace)::", …
std::string Simplify(std::string_view demangled);

// "head<a, b<c>>(p, q)" in its parts: head, template arguments a and b<c>, and the rest.
struct TemplateName {
  std::string_view head;
  std::vector<std::string_view> arguments;
  std::string_view rest;
};
TemplateName ParseTemplate(std::string_view text);

// Splits at the commas that are in no bracket. Blanks around the parts are dropped.
std::vector<std::string_view> SplitList(std::string_view text);

// A kernel's own part of its demangled name: without return type and without the parameter list.
TemplateName ParseKernel(std::string_view simplified);

// A functor: "MulFunctor<float>", or a lambda within a function,
// "f<T>(…)::{lambda()#2}::operator()() const::{lambda(float, bool)#1}".
struct FunctorName {
  std::string_view head;                    // MulFunctor, or f
  std::vector<std::string_view> arguments;  // of the template
  int number = 0;                           // of the lambda among its siblings; 0: it is none
};
FunctorName ParseFunctor(std::string_view text);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_KERNELS_NAMED_NAME_H_
