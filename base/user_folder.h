// The folders through which the processes of one user find one another.
//
// Ownership: results go into the caller's memory. Threads: any. Errors: false; errno says why a
// folder cannot be made or used. No heap. Units: bytes.
#ifndef VRAMSTOW_BASE_USER_FOLDER_H_
#define VRAMSTOW_BASE_USER_FOLDER_H_

#include <sys/types.h>

#include <cstddef>

namespace vramstow {

// Writes the path of a folder to `path`: `chosen` if it is not empty, otherwise "NAME-UID" in
// `runtime_dir`, which is the value of XDG_RUNTIME_DIR; if that is null or empty, /tmp is used.
// Returns false if the path is too long.
bool UserFolder(const char* name, const char* chosen, const char* runtime_dir, uid_t user,
                char* path, size_t size);

// Makes the folder, for its user alone, if it does not exist.
bool MakeFolder(const char* path);
// True if the folder belongs to this user, and no other user can write to it.
bool IsPrivateFolder(const char* path);

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_USER_FOLDER_H_
