// Names of functions with their classes: "Trainer.step".
//
// Idea: since CPython 3.11 a code has such a name. Before, only the function has it. The function
// of a method that runs is found from its first argument: it stands in a class of that object. So
// functions that are no methods are told by their bare names there.
//
// Ownership: copies. Threads: who calls holds the interpreter's lock. Errors: the bare name. Units:
// none.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_QUALIFIED_NAME_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_QUALIFIED_NAME_H_

#include <string>

#include "adapters/torch/census/interpreter.h"

namespace vramstow::torch_census {

std::string NameOfFunction(Object* function);
// The frame has a code.
std::string NameOfFrame(const Frame& frame);

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_QUALIFIED_NAME_H_
