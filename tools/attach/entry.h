// Entry: has a Python process that runs already execute a piece of Python.
//
// Idea: the text is put into a page of the process, and CPython's Py_AddPendingCall is asked to run
// it: the main thread does so between two of its own instructions, with Python's lock, as it runs
// signal handlers. The process is stopped for the two calls only. CPython's documentation permits
// Py_AddPendingCall in any thread, without its lock. A child enters, so that the process gets its
// registers back even if whoever asked is killed in the middle.
//
// Ownership: nothing is kept. Threads: one. Errors: a sentence in the status. Units: none.
#ifndef VRAMSTOW_TOOLS_ATTACH_ENTRY_H_
#define VRAMSTOW_TOOLS_ATTACH_ENTRY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/attach/remote_process.h"

namespace vramstow {

// A process whose Python can be asked.
struct PythonProcess {
  uint64_t map_memory = 0;        // mmap of libc
  uint64_t unmap_memory = 0;      // munmap of libc
  uint64_t add_pending_call = 0;  // Py_AddPendingCall
  uint64_t run_text = 0;          // PyRun_SimpleString
};

// Fails where the process runs no Python.
absl::StatusOr<PythonProcess> FindRemotePython(const RemoteProcess& process);

// The text, and where it will lie in the process; `page` stands for that in `text_of`.
struct Entered {
  uint64_t page = 0;  // bytes from here on belong to whoever was entered
  uint64_t page_bytes = 0;
  absl::Duration stopped;  // how long the process stood still
};

// Has the process run `text`, which must not raise. `$PAGE` in it becomes the number of the page's
// address, so that what runs can give the page back.
absl::StatusOr<Entered> EnterPython(const RemoteProcess& process, const PythonProcess& python,
                                    const std::string& text);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ATTACH_ENTRY_H_
