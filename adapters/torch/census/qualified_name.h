// Finds the names of functions with their classes: "Trainer.step".
//
// Idea: since CPython 3.11 a code object contains the name with the class. In older releases only
// the function object contains it. The function of a running method is then found through the
// method's first argument, because a class of that object contains the function. Other functions
// get their bare names in older releases.
//
// Ownership: copies. Threads: the caller holds the interpreter's lock. Errors: the bare name.
// Units: none.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_QUALIFIED_NAME_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_QUALIFIED_NAME_H_

#include <string>

#include "adapters/torch/census/interpreter.h"

namespace vramstow::torch_census {

std::string NameOfFunction(Object* function);
// `frame` must have a code object.
std::string NameOfFrame(const Frame& frame);

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_QUALIFIED_NAME_H_
