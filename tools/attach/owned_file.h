// OwnedFile: files in a folder that belongs to the user of another process.
//
// Idea: that user may replace a file by a link or a pipe. So a file is opened without following a
// link and without waiting, and it is used only if it is a regular file of that user with one name.
//
// Ownership: none. Threads: pure functions, callable from any thread. Errors: a status whose
// message is a whole sentence. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ATTACH_OWNED_FILE_H_
#define VRAMSTOW_TOOLS_ATTACH_OWNED_FILE_H_

#include <sys/types.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vramstow {

// Larger files are not read.
inline constexpr size_t kMaxOwnedFile = size_t{64} << 20;

// Replaces the contents of the file, or makes it, with the present user of file accesses, who must
// be `user`.
absl::Status WriteOwnedFile(const std::string& path, uid_t user, std::string_view text);
absl::StatusOr<std::string> ReadOwnedFile(const std::string& path, uid_t user);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ATTACH_OWNED_FILE_H_
