// Clients: the connections to a listening socket, each with one request and one answer.
//
// Idea: there is a fixed number of connections, each with buffers of a fixed size and a deadline. A
// client that is too slow or sends too much is disconnected. The owner of the object defines when a
// request is complete, which clients are admitted, and what the answer is.
//
// The host process may close the listener and give its number to something else. A number that
// does not refer to the listener any more is neither polled nor used nor closed.
//
// Ownership: the connections, until they are closed; the listener belongs to the owner until Close.
// Threads: one at a time; Close and DropAll also in a forked child. Errors: a connection that fails
// is closed. If the process has no room for a connection, no client is accepted for a second. No
// heap. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_BASE_CLIENTS_H_
#define VRAMSTOW_BASE_CLIENTS_H_

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "base/descriptor.h"

namespace vramstow {

// One connection. A type derived from it may send in another way, and may have more members.
template <size_t kRequestBytes, size_t kAnswerBytes>
struct Client {
  bool connected = false;
  int descriptor = 0;
  uint64_t deadline_ns = 0;
  size_t received = 0;
  size_t answer_size = 0;  // 0 if the request is not complete
  size_t sent = 0;
  char request[kRequestBytes] = {};
  char answer[kAnswerBytes] = {};

  // Sends the rest of the answer. Returns the result of send(2).
  ssize_t SendRest() const {
    return send(descriptor, answer + sent, answer_size - sent, MSG_NOSIGNAL);
  }
  // Releases resources when the connection is closed. A derived type replaces this function if it
  // has resources.
  void Release() {}
};

// The connections of one socket. `One` is Client or a type derived from it. All bytes of the object
// are zero at first.
template <typename One, int kMax>
class Clients {
 public:
  constexpr Clients() = default;
  Clients(const Clients&) = delete;
  Clients& operator=(const Clients&) = delete;

  One* at(int number) { return &clients_[number]; }

  // Remembers which socket the listener is, so that another one under its number is recognised.
  // An owner of which no other code can close the descriptor need not call this function.
  void Begin(int listener) { listener_inode_ = InodeOf(listener); }

  // Fills in up to 1 + kMax entries for poll() and returns the number of entries.
  int Watch(int listener, pollfd* polls) const {
    int count = 0;
    // poll ignores a negative descriptor. A listener whose clients cannot be accepted is always
    // ready, so poll would return at once again and again.
    const bool accepts = !is_lost_ && pause_ends_ns_ == 0;
    polls[count++] = {accepts ? listener : -1, POLLIN, 0};
    for (const One& client : clients_) {
      if (!client.connected) continue;
      const short wanted = client.answer_size == 0 ? POLLIN : POLLOUT;
      polls[count++] = {client.descriptor, wanted, 0};
    }
    return count;
  }

  // Called after poll(). It accepts clients for which admits(descriptor) is true, reads requests,
  // sends answers, and disconnects slow clients. answer(One*) fills in the members answer and
  // answer_size; it returns false if the request is not complete.
  template <typename Admits, typename Answer>
  void Serve(int listener, const pollfd* polls, int count, uint64_t now_ns, const Admits& admits,
             const Answer& answer) {
    bool is_asked = false;
    if (now_ns >= pause_ends_ns_) pause_ends_ns_ = 0;
    for (int i = 0; i < count; ++i) {
      if (polls[i].revents == 0) continue;
      if (polls[i].fd == listener) {
        is_asked = true;
        is_lost_ = is_lost_ || (polls[i].revents & POLLNVAL) != 0 || !IsOurs(listener);
      } else if (One* const client = Find(polls[i].fd); client == nullptr) {
        continue;
      } else if (client->answer_size == 0) {
        Receive(client, answer);
      } else {
        Send(client);
      }
    }
    for (One& client : clients_) {
      if (client.connected && now_ns > client.deadline_ns) Drop(&client);
    }
    // Last, because clients that have ended leave their places to new ones.
    if (is_asked && !is_lost_) Accept(listener, now_ns, admits);
  }

  // Closes all connections, and the listener if its number still refers to it. Async-signal-safe.
  void Close(int listener) {
    if (!is_lost_ && IsOurs(listener)) close(listener);
    is_lost_ = false;
    pause_ends_ns_ = 0;
    DropAll();
  }

  // Closes all connections. Async-signal-safe.
  void DropAll() {
    for (One& client : clients_) Drop(&client);
  }

 private:
  static constexpr uint64_t kPatienceNs = 5'000'000'000;
  static constexpr uint64_t kPauseNs = 1'000'000'000;

  // Returns the number by which the kernel knows an open file, or 0 if it is none.
  static ino_t InodeOf(int descriptor) {
    struct stat status;
    return fstat(descriptor, &status) == 0 ? status.st_ino : 0;
  }

  bool IsOurs(int listener) const {
    return listener_inode_ == 0 || InodeOf(listener) == listener_inode_;
  }

  One* Find(int descriptor) {
    for (One& client : clients_) {
      if (client.connected && client.descriptor == descriptor) return &client;
    }
    return nullptr;
  }

  One* FreePlace() {
    for (One& client : clients_) {
      if (!client.connected) return &client;
    }
    return nullptr;
  }

  template <typename Admits>
  void Accept(int listener, uint64_t now_ns, const Admits& admits) {
    const int descriptor =
        MoveDescriptorUp(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (descriptor < 0) {
      NoteFailure(errno, now_ns);
      return;
    }
    One* const client = FreePlace();
    if (client == nullptr || !admits(descriptor)) {
      close(descriptor);
      return;
    }
    client->connected = true;
    client->descriptor = descriptor;
    client->deadline_ns = now_ns + kPatienceNs;
    client->received = client->answer_size = client->sent = 0;
  }

  // Called with the errno of accept. An error of the one connection means nothing for the next.
  void NoteFailure(int error, uint64_t now_ns) {
    if (error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS) {
      pause_ends_ns_ = now_ns + kPauseNs;
    }
    is_lost_ = is_lost_ || error == EBADF || error == ENOTSOCK || error == EINVAL;
  }

  template <typename Answer>
  static void Receive(One* client, const Answer& answer) {
    const ssize_t got = recv(client->descriptor, client->request + client->received,
                             sizeof client->request - client->received, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
      Drop(client);
      return;
    }
    client->received += static_cast<size_t>(got);
    if (answer(client)) {
      Send(client);
    } else if (client->received == sizeof client->request) {
      Drop(client);
    }
  }

  static void Send(One* client) {
    const ssize_t sent = client->SendRest();
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (sent > 0) client->sent += static_cast<size_t>(sent);
    if (sent <= 0 || client->sent == client->answer_size) Drop(client);
  }

  static void Drop(One* client) {
    if (client->connected) close(client->descriptor);
    client->connected = false;
    client->Release();
  }

  bool is_lost_ = false;  // the listener's number does not refer to it any more
  ino_t listener_inode_ = 0;
  uint64_t pause_ends_ns_ = 0;  // 0 if clients are accepted
  One clients_[kMax];
};

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_CLIENTS_H_
