// History tells what a notebook's history holds from what the program's own variables hold.
//
// Idea: IPython keeps each displayed result under names of its own (_, _5, Out[5]) among the
// program's globals, and more inside its shell. Python keeps the last error in `sys`. These
// references end when the history is forgotten. So the census follows them last: a tensor is
// named by the history only if nothing else was found to hold it.
//
// Ownership: borrowed pointers, valid while the interpreter's lock is held. Threads: one. Errors:
// without IPython there is no history. Units: none.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_HISTORY_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_HISTORY_H_

#include "adapters/torch/census/cpython.h"

namespace vramstow::torch_census {

class History {
 public:
  History();

  // True for IPython's shell and its dict of results.
  bool IsPart(const Object* object) const {
    return object != nullptr && (object == shell_ || object == results_);
  }
  // True for the globals of the program and of `sys`. Some of their names belong to the history.
  bool HasNamesIn(const Object* dict) const {
    return dict != nullptr && (dict == globals_ || dict == sys_);
  }
  // Returns the program's globals, or null if there is no history.
  Object* globals() const { return globals_; }
  // True if this name of a dict for which HasNamesIn is true belongs to the history.
  bool IsName(const Object* dict, Object* name) const;
  // Visits the values of such a dict: those of the history's names, or those of all other names.
  void Visit(Object* dict, bool is_of_history, Visitor visitor, void* context) const;
  // Returns the name under which such a dict holds the object. A name that does not belong to the
  // history is preferred. Returns null if there is none.
  Object* NameOf(Object* dict, const Object* held) const;

 private:
  Object* globals_ = nullptr;
  Object* sys_ = nullptr;
  const Object* shell_ = nullptr;
  const Object* results_ = nullptr;
};

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_HISTORY_H_
