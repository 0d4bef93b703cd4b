// Naming: by what name one object holds another.
//
// Idea: names are looked up only for what is told. Attributes are read by their key, never asked
// for, so no code of the program runs.
//
// Ownership: borrowed pointers. Threads: who calls holds the interpreter's lock. Errors: null, -1.
// Units: none.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_NAMING_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_NAMING_H_

#include <string_view>

#include "adapters/torch/census/cpython.h"

namespace vramstow::torch_census {

// Without its module.
std::string_view NameOfType(const Type* type);
// The attributes of an object, as far as they are in a dict; borrowed.
Object* AttributesOf(Object* object);
Object* KeyOf(Object* dict, const Object* wanted);
// Whether it is itself a key of the dict, and no equal one.
bool IsKeyOf(Object* dict, const Object* wanted);
// The name of the slot, or of the field in C, that has the object; null: none.
const char* FieldOf(Object* holder, const Object* held);
// In a list or a tuple; -1: not found.
intptr_t IndexOf(Object* sequence, const Object* wanted);

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_NAMING_H_
