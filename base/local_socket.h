// LocalSocket: functions for sockets in the file system. The file of such a socket remains if its
// process is killed.
//
// Ownership: the caller owns the descriptors. Threads: any. Errors: errno. No heap. Units: none.
#ifndef VRAMSTOW_BASE_LOCAL_SOCKET_H_
#define VRAMSTOW_BASE_LOCAL_SOCKET_H_

#include <sys/un.h>

namespace vramstow {

// Returns the socket address of a path; a path that is too long is cut off.
sockaddr_un LocalAddress(const char* path);

// True if a process listens at the socket, so that its file was not left behind by a dead process.
bool IsListening(const sockaddr_un& address);

// Creates a socket with mode 0600 and listens at it. Replaces a socket at which no process listens.
// Returns -1 and sets errno on failure.
int ListenLocally(const char* path, int clients);

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_LOCAL_SOCKET_H_
