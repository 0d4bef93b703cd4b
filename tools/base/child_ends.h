// ChildEnds: keeps the ends of this program's children until they are waited for.
//
// Idea: a program whose parent ignores SIGCHLD ignores it too. Then the kernel forgets each child
// at its end, and waitpid returns neither the child nor its status. While an object of this class
// exists, SIGCHLD has its default action.
//
// Ownership: the action of SIGCHLD, for the whole process. Threads: one at a time; objects are
// nested. Errors: none. Units: none.
#ifndef VRAMSTOW_TOOLS_BASE_CHILD_ENDS_H_
#define VRAMSTOW_TOOLS_BASE_CHILD_ENDS_H_

#include <csignal>

namespace vramstow {

class ChildEnds {
 public:
  ChildEnds() {
    struct sigaction keep = {};
    keep.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &keep, &before_);
  }
  ChildEnds(const ChildEnds&) = delete;
  ChildEnds& operator=(const ChildEnds&) = delete;
  ~ChildEnds() { sigaction(SIGCHLD, &before_, nullptr); }

  // Returns the action that the parent of this program chose.
  const struct sigaction& before() const { return before_; }

 private:
  struct sigaction before_ = {};
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_BASE_CHILD_ENDS_H_
