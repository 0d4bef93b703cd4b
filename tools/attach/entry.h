// Entry: lets a running Python process execute a piece of Python.
//
// Idea: the text is written to a page of the process, and CPython's Py_AddPendingCall is asked to
// run it: the main thread does so between two of its own instructions, with Python's lock, as it
// runs signal handlers. The process is stopped only for the two calls. CPython's documentation
// permits Py_AddPendingCall in any thread, without its lock. A child process of the caller makes
// these calls, so that the registers of the entered process are restored even if the caller is
// killed.
//
// Ownership: nothing is stored. Threads: used by one thread at a time. Errors: a sentence in the
// status. Units: none.
#ifndef VRAMSTOW_TOOLS_ATTACH_ENTRY_H_
#define VRAMSTOW_TOOLS_ATTACH_ENTRY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/attach/remote_process.h"

namespace vramstow {

// The addresses of functions in a process that runs Python.
struct PythonProcess {
  uint64_t map_memory = 0;        // mmap of libc
  uint64_t unmap_memory = 0;      // munmap of libc
  uint64_t add_pending_call = 0;  // Py_AddPendingCall
  uint64_t run_text = 0;          // PyRun_SimpleString
};

// Fails if the process runs no Python.
absl::StatusOr<PythonProcess> FindRemotePython(const RemoteProcess& process);

// The memory that was mapped for the text in the process, and how long the process was stopped.
struct Entered {
  uint64_t page = 0;  // the address; the text that runs has to unmap it
  uint64_t page_bytes = 0;
  absl::Duration stopped;  // how long the process was stopped
};

// Lets the process run `text`, which must not raise. `$PAGE` in it is replaced by the page's
// address, so that the text can unmap the page.
absl::StatusOr<Entered> EnterPython(const RemoteProcess& process, const PythonProcess& python,
                                    const std::string& text);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ATTACH_ENTRY_H_
