#include "interpose/core/service/control_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/descriptor.h"
#include "base/local_socket.h"
#include "base/user_folder.h"
#include "interpose/core/pools/exports.h"
#include "interpose/core/service/control_verbs.h"

namespace vramstow {
namespace {

constexpr std::string_view kIpcRequest = "VRAMSTOW/1 ipc ";

// Returns the number before ".sock", or 0 if the name is not one of vramstow's sockets.
pid_t ProcessOf(const char* name) {
  char* end = nullptr;
  const long number = name[0] >= '1' && name[0] <= '9' ? std::strtol(name, &end, 10) : 0;
  const bool is_ours = end != nullptr && std::strcmp(end, ".sock") == 0;
  return is_ours && number <= INT32_MAX ? static_cast<pid_t>(number) : 0;
}

// Removes the socket file that a killed process left. The process number of a process in another
// container may be unknown here. So the file is removed only if no process listens on it, either.
void RemoveIfDead(const char* folder, const char* name) {
  constexpr int kNoSignal = 0;
  const pid_t process = ProcessOf(name);
  char path[kMaxControlPath];
  if (process == 0 || kill(process, kNoSignal) == 0 || errno != ESRCH) return;
  if (!ControlSocketPath(folder, process, path, sizeof path)) return;
  if (!IsListening(LocalAddress(path))) unlink(path);
}

// Removes the sockets of killed processes from the folder. It reads the folder without the heap and
// ignores the end of a very large folder.
void RemoveDeadSockets(const char* folder) {
  constexpr int kMaxReads = 16;
  struct Entry {  // getdents64(2)
    uint64_t inode;
    int64_t offset;
    uint16_t size;
    uint8_t type;
    char name[];
  };
  const int directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  alignas(Entry) char buffer[4096];
  for (int i = 0; i < kMaxReads; ++i) {
    const long size = syscall(SYS_getdents64, directory, buffer, sizeof buffer);
    if (size <= 0) break;
    for (long at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const Entry*>(buffer + at);
      RemoveIfDead(folder, entry->name);
      at += entry->size;
    }
  }
  close(directory);
}

bool IsOurs(int descriptor) {
  ucred peer = {};
  socklen_t size = sizeof peer;
  if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == geteuid() || peer.uid == 0;
}

}  // namespace

bool ControlSocket::Open(const char* chosen, char* why, size_t why_size) {
  char folder[kMaxControlPath];
  if (!ControlDirectory(chosen, std::getenv("XDG_RUNTIME_DIR"), geteuid(), folder, sizeof folder) ||
      !ControlSocketPath(folder, getpid(), path_, sizeof path_)) {
    std::snprintf(why, why_size, "the path of its folder is too long");
    return false;
  }
  const auto fail = [why, why_size](const char* what) {
    std::snprintf(why, why_size, "%s: %s", what, std::strerror(errno));
    return false;
  };
  // A folder that the user chose is not checked.
  const bool is_chosen = *chosen != '\0';
  if (!MakeFolder(folder) || (!is_chosen && !IsPrivateFolder(folder))) return fail(folder);
  RemoveDeadSockets(folder);
  const int listener = ListenLocally(path_, kMaxClients);
  if (listener < 0) return fail(path_);
  listener_ = MoveDescriptorUp(listener);
  clients_.Begin(listener_);
  open_ = true;
  return true;
}

void ControlSocket::Close() {
  RemoveFile();
  Abandon();
}

void ControlSocket::RemoveFile() {
  if (open_) unlink(path_);
}

void ControlSocket::Abandon() {
  if (open_) clients_.Close(listener_);
  open_ = false;
}

int ControlSocket::Watch(pollfd* polls) const {
  return open_ ? clients_.Watch(listener_, polls) : 0;
}

void ControlSocket::Serve(const pollfd* polls, int count, uint64_t now_ns,
                          const ControlVerbs& verbs) {
  clients_.Serve(listener_, polls, count, now_ns, IsOurs,
                 [&verbs](ControlClient* client) { return Answer(client, verbs); });
}

bool ControlSocket::Answer(ControlClient* client, const ControlVerbs& verbs) {
  const auto* end = static_cast<const char*>(std::memchr(client->request, '\n', client->received));
  if (end == nullptr) return false;
  const std::string_view line(client->request, static_cast<size_t>(end - client->request));
  if (line.starts_with(kIpcRequest)) {
    const int count =
        verbs.exports().Answer(line.substr(kIpcRequest.size()), client->answer,
                               sizeof client->answer, &client->answer_size, client->descriptors);
    client->descriptor_count = count > 0 ? count : 0;
  } else {
    client->answer_size = verbs.AnswerRequest(line, client->answer, sizeof client->answer);
  }
  return true;
}

ssize_t ControlClient::SendRest() {
  iovec part = {answer + sent, answer_size - sent};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptors)] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (sent == 0 && descriptor_count > 0) {
    const size_t bytes = static_cast<size_t>(descriptor_count) * sizeof(int);
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(bytes);
    std::memcpy(CMSG_DATA(header), descriptors, bytes);
  }
  return sendmsg(descriptor, &message, MSG_NOSIGNAL);
}

void ControlClient::Release() {
  for (int i = 0; i < descriptor_count; ++i) close(descriptors[i]);
  descriptor_count = 0;
}

}  // namespace vramstow
