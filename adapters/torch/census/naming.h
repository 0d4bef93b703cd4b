// Naming finds the name by which one object holds another.
//
// Idea: names are looked up only for reported chains. Attributes are read by their key, never by
// getattr, so no code of the program runs.
//
// Ownership: borrowed pointers. Threads: the caller holds the interpreter's lock. Errors: null, -1.
// Units: none.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_NAMING_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_NAMING_H_

#include <string_view>
#include <vector>

#include "adapters/torch/census/cpython.h"

namespace vramstow::torch_census {

// Returns the name of a type without its module.
std::string_view NameOfType(const Type* type);
// Returns the dict with the attributes of an object, as a borrowed reference, or null if it has
// none.
Object* AttributesOf(Object* object);
Object* KeyOf(Object* dict, const Object* wanted);
// True if the object itself, rather than an equal one, is a key of the dict.
bool IsKeyOf(Object* dict, const Object* wanted);
// Returns the objects that this object references, as it reports them to Python's collector. An
// object may occur twice.
std::vector<Object*> ChildrenOf(Object* object);
// Returns the name of the slot, or of the C member, in which `holder` holds the object. Returns
// null if there is none.
const char* FieldOf(Object* holder, const Object* held);
// Returns the index of the object in a list or a tuple, or -1 if the object is not in it.
intptr_t IndexOf(Object* sequence, const Object* wanted);

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_NAMING_H_
