// LocalSocket: sockets of the file system, which processes that were killed leave behind.
//
// Ownership: descriptors are the caller's. Threads: any. Errors: errno. No heap. Units: none.
#ifndef VRAMSTOW_BASE_LOCAL_SOCKET_H_
#define VRAMSTOW_BASE_LOCAL_SOCKET_H_

#include <sys/un.h>

namespace vramstow {

// A longer path is cut.
sockaddr_un LocalAddress(const char* path);

// Whether somebody listens there: then the file is not a dead process's.
bool IsListening(const sockaddr_un& address);

// Listens at a socket that is made there with mode 0600, in place of one where nobody listens. -1:
// errno says why.
int ListenLocally(const char* path, int clients);

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_LOCAL_SOCKET_H_
