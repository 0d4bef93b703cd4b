// FailureEnds finds out where an out-of-memory error that PyTorch is about to throw will be caught.
//
// Idea: PyTorch sometimes requests memory that it can do without. To choose an algorithm of cuDNN,
// for example, it requests a workspace, catches the error, and tries an algorithm that needs less.
// The program never sees such an error. Before the error is thrown, the stack is searched for the
// function that would catch the error, as in the first phase of a throw. If the first such function
// catches out-of-memory errors and not PyTorch's errors in general, the error is handled there.
// Code that passes an error on to Python, or to another thread, catches all of PyTorch's errors.
//
// Ownership: none. Threads: any; call it in the thread that throws, before the throw. Errors: if
// the stack cannot be read, the program is assumed to see the error. Units: none.
#ifndef VRAMSTOW_ADAPTERS_TORCH_FAILURE_ENDS_H_
#define VRAMSTOW_ADAPTERS_TORCH_FAILURE_ENDS_H_

#include <c10/util/Exception.h>
#include <cxxabi.h>
#include <unwind.h>

#include <cstddef>
#include <cstring>
#include <typeinfo>

// A function of the C++ runtime that finds out whether a function would catch an exception.
extern "C" _Unwind_Reason_Code __gxx_personality_v0(int, _Unwind_Action, _Unwind_Exception_Class,
                                                    _Unwind_Exception*, _Unwind_Context*);

namespace vramstow::torch_failure {

// An exception that is never thrown. It is used only to ask functions whether they would catch it.
class Question {
 public:
  explicit Question(const std::type_info& type) : object_(abi::__cxa_allocate_exception(kBytes)) {
    std::memset(object_, 0, kBytes);
    abi::__cxa_init_primary_exception(object_, const_cast<std::type_info*>(&type), nullptr);
  }
  ~Question() { abi::__cxa_free_exception(object_); }
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;

  bool IsCaughtIn(_Unwind_Context* function) const {
    // The header of an exception lies in front of the object.
    auto* header = static_cast<_Unwind_Exception*>(object_) - 1;
    return __gxx_personality_v0(1, _UA_SEARCH_PHASE, header->exception_class, header, function) ==
           _URC_HANDLER_FOUND;
  }

 private:
  static constexpr size_t kBytes = 512;  // larger than any error of PyTorch
  void* const object_;
};

class FailureEnds {
 public:
  // True if a C++ function will catch this error, so that the program will not see it.
  static bool InsideFramework() {
    Search search;
    _Unwind_Backtrace(Look, &search);
    return search.is_handled;
  }

 private:
  struct Search {
    Question shortage{typeid(c10::OutOfMemoryError)};
    Question any_error{typeid(c10::Error)};
    bool is_handled = false;
  };

  static _Unwind_Reason_Code Look(_Unwind_Context* function, void* argument) {
    auto* search = static_cast<Search*>(argument);
    // A function without handlers and clean-ups has no language-specific data.
    if (_Unwind_GetLanguageSpecificData(function) == 0) return _URC_NO_REASON;
    if (!search->shortage.IsCaughtIn(function)) return _URC_NO_REASON;
    search->is_handled = !search->any_error.IsCaughtIn(function);
    return _URC_END_OF_STACK;
  }
};

}  // namespace vramstow::torch_failure

#endif  // VRAMSTOW_ADAPTERS_TORCH_FAILURE_ENDS_H_
