// The protocol of the control channel: where the socket of a process lies, and the form of requests
// and answers.
//
// Idea: a client sends one request and gets one answer; then the connection ends. A request is one
// line, "VRAMSTOW/1 VERB [ARGUMENTS]\n"; an answer is the line "VRAMSTOW/1 OK\n" and a body, or one
// line "VRAMSTOW/1 ERROR sentence\n". docs/control.md lists the verbs.
//
// Ownership: results go into the caller's memory. Threads: pure functions. Errors: returns false.
// Units: bytes.
#ifndef VRAMSTOW_BASE_CONTROL_H_
#define VRAMSTOW_BASE_CONTROL_H_

#include <sys/types.h>

#include <cstddef>

namespace vramstow {

inline constexpr char kControlGreeting[] = "VRAMSTOW/1 ";
inline constexpr size_t kMaxControlRequest = 512;   // bytes, including the end of the line
inline constexpr size_t kMaxControlAnswer = 16384;  // bytes
// The longest path that a socket may have, including its zero byte (sockaddr_un).
inline constexpr size_t kMaxControlPath = 108;

// Writes the path of the folder for sockets to `path`. If `chosen` is not empty, it is that folder.
// Otherwise it is "vramstow-UID" in `runtime_dir`, which is the value of XDG_RUNTIME_DIR; if that
// is null or empty, /tmp is used. Returns false if the path is too long for sockets in it.
bool ControlDirectory(const char* chosen, const char* runtime_dir, uid_t user, char* path,
                      size_t size);
// Writes the path of the socket of a process in `directory` to `path`. Returns false if the path is
// too long.
bool ControlSocketPath(const char* directory, pid_t process, char* path, size_t size);

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_CONTROL_H_
