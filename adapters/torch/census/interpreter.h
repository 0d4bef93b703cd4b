// Interpreter reads threads, frames and handled exceptions of CPython in place.
//
// Idea: Python's own functions for this make objects, or copy a function's variables into a dict
// that keeps them alive. So frames are read as they are. The offsets of their fields are known for
// CPython 3.9 to 3.13. They are checked on a running thread, through the kernel, which reports bad
// addresses instead of raising SIGSEGV. With any other interpreter there are no frames.
//
// Ownership: borrowed pointers. Threads: the caller holds the interpreter's lock. Errors: nothing
// is found. Units: none.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_INTERPRETER_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_INTERPRETER_H_

#include <string_view>

#include "adapters/torch/census/cpython.h"

namespace vramstow::torch_census {

// Returns the characters of a text object of Python. Returns an empty text if the object is no
// text.
std::string_view TextOf(Object* text);

// The code object of a function.
class Code {
 public:
  explicit Code(Object* code) : code_(code) {}
  Object* object() const { return code_; }
  std::string_view name() const;  // since CPython 3.11 it contains the class
  std::string_view file() const;
  // Returns the number of variables: local variables, cells and variables of outer functions, in
  // this order.
  int variables() const;
  int outer_variables() const;  // the last of these
  std::string_view variable(int number) const;
  bool is_module() const { return name() == "<module>"; }
  // True if the code belongs to the program, and not to Python or to an installed package.
  bool is_users() const;

 private:
  Object* code_;
};

// The frame of a function that runs, has yielded, or has ended while the frame is still referenced.
class Frame {
 public:
  explicit Frame(const void* frame) : frame_(static_cast<const char*>(frame)) {}
  explicit operator bool() const { return frame_ != nullptr; }
  const void* address() const { return frame_; }
  bool has_code() const;  // false for the interpreter's own frames
  Code code() const;
  Frame caller() const;
  Object* variable(int number) const;  // null if it is not set
  // The stack slots in which expressions store intermediate values. Only the interpreter knows how
  // many of them are in use; the other slots contain old values, which may have been destroyed.
  int expression_places() const;
  const void* expression_place(int number) const;

 private:
  const char* frame_;
};

class Interpreter {
 public:
  // The first call finds out which release of CPython runs in this process; later calls do nothing.
  // The calling thread must be running Python code.
  static void Look();
  static bool has_frames();
  // True if the names of code objects do not contain the class; qualified_name.h completes such
  // names.
  static bool has_short_names();

  // Returns the innermost frame of a thread.
  static Frame FrameOf(PyThreadState* thread);
  // Returns the frame that a frame object refers to.
  static Frame FrameOf(Object* frame_object);
  // Stores the exceptions that the thread handles, the innermost first. Returns their number.
  static int Handled(PyThreadState* thread, Object** exceptions, int most);
  // Returns the frame object to which a traceback leads.
  static Object* FrameObjectOf(Object* traceback);
  static bool is_ending();
};

// True if a file belongs to the program.
bool IsUsersFile(std::string_view file);

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_INTERPRETER_H_
