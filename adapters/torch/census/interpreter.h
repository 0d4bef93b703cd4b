// Interpreter: threads, frames and handled exceptions of CPython, read where they lie.
//
// Idea: Python's own functions for this make objects, or copy a function's variables into a dict
// that keeps them alive. So frames are read as they are. Where their fields are is known for
// CPython 3.9 to 3.13; it is checked against a running thread, through the kernel, which reports
// bad addresses instead of raising SIGSEGV. With any other interpreter there are no frames.
//
// Ownership: borrowed pointers. Threads: who calls holds the interpreter's lock. Errors: nothing is
// found. Units: none.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_INTERPRETER_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_INTERPRETER_H_

#include <string_view>

#include "adapters/torch/census/cpython.h"

namespace vramstow::torch_census {

// Text of Python's; empty where it is none.
std::string_view TextOf(Object* text);

// A function's code.
class Code {
 public:
  explicit Code(Object* code) : code_(code) {}
  Object* object() const { return code_; }
  std::string_view name() const;  // with its class; up to CPython 3.10 without
  std::string_view file() const;
  // Variables, cells and what comes from outer functions, in this order.
  int variables() const;
  int outer_variables() const;  // the last ones
  std::string_view variable(int number) const;
  bool is_module() const { return name() == "<module>"; }
  // Whether it belongs to the program, and not to Python or to an installed package.
  bool is_users() const;

 private:
  Object* code_;
};

// A function that runs, has yielded, or has ended and is kept.
class Frame {
 public:
  explicit Frame(const void* frame) : frame_(static_cast<const char*>(frame)) {}
  explicit operator bool() const { return frame_ != nullptr; }
  const void* address() const { return frame_; }
  bool has_code() const;  // false: the interpreter's own
  Code code() const;
  Frame caller() const;
  Object* variable(int number) const;  // null: not set
  // Where expressions keep what they have computed so far. How many of these are in use only the
  // interpreter knows; the rest is what was there before, which may be gone.
  int expression_places() const;
  const void* expression_place(int number) const;

 private:
  const char* frame_;
};

class Interpreter {
 public:
  // Finds out which CPython this is. The first call decides. Whoever calls runs Python.
  static void Look();
  static bool has_frames();
  // Whether the names of codes come without a class: qualified_name.h knows those.
  static bool has_short_names();

  // The innermost frame of a thread.
  static Frame FrameOf(PyThreadState* thread);
  // The frame behind a frame object.
  static Frame FrameOf(Object* frame_object);
  // Exceptions that the thread handles, the innermost first. Returns how many.
  static int Handled(PyThreadState* thread, Object** exceptions, int most);
  // The objects to which a traceback leads.
  static Object* FrameObjectOf(Object* traceback);
  static bool is_ending();
};

// Whether a file belongs to the program.
bool IsUsersFile(std::string_view file);

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_INTERPRETER_H_
