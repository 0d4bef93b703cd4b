#include "simulator/runtime/libraries/nccl/group.h"

#include <pthread.h>
#include <signal.h>

#include <memory>
#include <utility>
#include <vector>

namespace vramstow::simulator {
namespace {

struct Connection {
  ncclComm* comm;
  ncclComm** target;
  std::function<ncclResult_t()> connect;
  ncclResult_t result = ncclSuccess;
};

struct Group {
  int depth = 0;
  ncclResult_t first_error = ncclSuccess;
  std::vector<Operation> operations;
  std::vector<std::unique_ptr<Connection>> connections;
};

Group& ThisGroup() {
  static thread_local Group group;
  return group;
}

void* RunConnection(void* argument) {
  auto* connection = static_cast<Connection*>(argument);
  connection->result = connection->connect();
  return nullptr;
}

// Starts a thread with all signals blocked, because signals are for the application's threads.
bool StartThread(pthread_t* thread, void* (*function)(void*), void* argument) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const bool started = pthread_create(thread, nullptr, function, argument) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

void* RunInBackground(void* argument) {
  const std::unique_ptr<Connection> connection(static_cast<Connection*>(argument));
  connection->connect();  // the communicator stores its own result
  return nullptr;
}

bool IsBlocking(const Connection& connection) {
  return connection.comm == nullptr || connection.comm->blocking;
}

// Connects a communicator that does not block while the application continues.
ncclResult_t ConnectInBackground(std::unique_ptr<Connection> connection) {
  pthread_t thread;
  if (!StartThread(&thread, RunInBackground, connection.get())) {
    return Fail(connection->comm, ncclSystemError, "no thread to connect a communicator.");
  }
  pthread_detach(thread);
  [[maybe_unused]] Connection* owned_by_thread = connection.release();
  return ncclInProgress;
}

ncclResult_t Finish(Connection* connection) {
  if (connection->result == ncclSuccess) return ncclSuccess;
  if (connection->comm != nullptr) {
    *connection->target = nullptr;
    Release(connection->comm);
  }
  return connection->result;
}

ncclResult_t ConnectAll(std::vector<std::unique_ptr<Connection>> connections) {
  ncclResult_t result = ncclSuccess;
  std::vector<std::pair<pthread_t, std::unique_ptr<Connection>>> running;
  for (auto& connection : connections) {
    ncclResult_t one = ncclSuccess;
    if (!IsBlocking(*connection)) {
      one = ConnectInBackground(std::move(connection));
    } else if (connections.size() == 1) {
      RunConnection(connection.get());
      one = Finish(connection.get());
    } else {
      pthread_t thread;
      if (StartThread(&thread, RunConnection, connection.get())) {
        running.emplace_back(thread, std::move(connection));
      } else {
        connection->result = ncclSystemError;
        one = Finish(connection.get());
      }
    }
    if (result == ncclSuccess) result = one;
  }
  for (auto& [thread, connection] : running) {
    pthread_join(thread, nullptr);
    const ncclResult_t one = Finish(connection.get());
    if (result == ncclSuccess || result == ncclInProgress)
      result = one != ncclSuccess ? one : result;
  }
  return result;
}

}  // namespace

void StartGroup() { ++ThisGroup().depth; }

ncclResult_t EndGroup() {
  Group& group = ThisGroup();
  if (group.depth == 0) return ncclInvalidUsage;
  if (--group.depth > 0) return ncclSuccess;
  Group called;
  std::swap(called, group);
  if (called.first_error != ncclSuccess) {
    for (const auto& connection : called.connections) {
      connection->result = called.first_error;
      Finish(connection.get());
    }
    return called.first_error;
  }
  const ncclResult_t connected = ConnectAll(std::move(called.connections));
  if (connected != ncclSuccess && connected != ncclInProgress) return connected;
  const ncclResult_t queued = Enqueue(called.operations);
  return queued != ncclSuccess ? queued : connected;
}

ncclResult_t DropGroup() {
  Group& group = ThisGroup();
  if (group.depth == 0) return ncclInvalidUsage;
  group.operations.clear();
  return EndGroup();
}

ncclResult_t Submit(const Operation& operation) {
  Group& group = ThisGroup();
  if (group.depth == 0) return Enqueue({operation});
  group.operations.push_back(operation);
  return ncclSuccess;
}

ncclResult_t SubmitConnection(ncclComm* comm, ncclComm** target,
                              std::function<ncclResult_t()> connect) {
  auto connection = std::make_unique<Connection>();
  connection->comm = comm;
  connection->target = target;
  connection->connect = std::move(connect);
  Group& group = ThisGroup();
  group.connections.push_back(std::move(connection));
  if (group.depth > 0) return ncclSuccess;
  ++group.depth;
  return EndGroup();
}

ncclResult_t Refused(ncclResult_t result) {
  Group& group = ThisGroup();
  if (group.depth > 0 && group.first_error == ncclSuccess) group.first_error = result;
  return result;
}

}  // namespace vramstow::simulator
