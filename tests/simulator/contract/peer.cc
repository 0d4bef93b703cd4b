#include "tests/simulator/contract/peer.h"

#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

extern char** environ;

namespace vramstow::simulator {
namespace {

constexpr char kPeerVariable[] = "VRAMSTOW_TEST_PEER";

bool SendMessage(int socket, const void* bytes, size_t size, int descriptor) {
  iovec part = {const_cast<void*>(bytes), size};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (descriptor >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &descriptor, sizeof(descriptor));
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(size);
}

bool ReceiveMessage(int socket, void* bytes, size_t size, int* descriptor) {
  iovec part = {bytes, size};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  *descriptor = -1;
  if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != static_cast<ssize_t>(size)) return false;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    memcpy(descriptor, CMSG_DATA(header), sizeof(*descriptor));
  }
  return true;
}

CUmemAllocationProp Shareable() {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return properties;
}

// Maps a handle at fresh addresses, with access.
CUresult MapHandle(const Driver& driver, CUmemGenericAllocationHandle handle, size_t bytes,
                   uint64_t* address) {
  CUdeviceptr range = 0;
  CUresult result = driver.cuMemAddressReserve(&range, bytes, 0, 0, 0);
  if (result == CUDA_SUCCESS) result = driver.cuMemMap(range, bytes, 0, handle, 0);
  CUmemAccessDesc access = {};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  if (result == CUDA_SUCCESS) result = driver.cuMemSetAccess(range, bytes, &access, 1);
  *address = range;
  return result;
}

CUresult ImportMapped(const Driver& driver, int descriptor, size_t bytes, uint64_t* address) {
  CUmemGenericAllocationHandle handle = 0;
  CUresult result = driver.cuMemImportFromShareableHandle(
      &handle, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)),
      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  if (result != CUDA_SUCCESS) return result;
  result = MapHandle(driver, handle, bytes, address);
  driver.cuMemRelease(handle);
  return result;
}

CUresult ExportMapped(const Driver& driver, size_t bytes, uint64_t* address, int* descriptor) {
  const CUmemAllocationProp properties = Shareable();
  CUmemGenericAllocationHandle handle = 0;
  CUresult result = driver.cuMemCreate(&handle, bytes, &properties, 0);
  if (result != CUDA_SUCCESS) return result;
  result = MapHandle(driver, handle, bytes, address);
  if (result == CUDA_SUCCESS) {
    result = driver.cuMemExportToShareableHandle(descriptor, handle,
                                                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  }
  driver.cuMemRelease(handle);
  return result;
}

CUresult MakePool(const Driver& driver, uint64_t* pool, int* descriptor) {
  CUmemPoolProps properties = {};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemoryPool made = nullptr;
  CUresult result = driver.cuMemPoolCreate(&made, &properties);
  if (result == CUDA_SUCCESS) {
    result = driver.cuMemPoolExportToShareableHandle(descriptor, made,
                                                     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  }
  *pool = reinterpret_cast<uintptr_t>(made);
  return result;
}

CUresult Start(const Driver& driver) {
  CUcontext context = nullptr;
  CUresult result = driver.cuInit(0);
  if (result == CUDA_SUCCESS) result = driver.cuDevicePrimaryCtxRetain(&context, 0);
  return result == CUDA_SUCCESS ? driver.cuCtxSetCurrent(context) : result;
}

template <typename Handle>
Handle HandleOf(const PeerRequest& request) {
  Handle handle;
  static_assert(sizeof(handle) == sizeof(request.data));
  memcpy(&handle, request.data, sizeof(handle));
  return handle;
}

template <typename Handle>
CUresult Keep(const Handle& handle, CUresult result, PeerReply* reply) {
  memcpy(reply->data, &handle, sizeof(handle));
  return result;
}

CUevent EventOf(const PeerRequest& request) { return reinterpret_cast<CUevent>(request.value); }

CUresult ServeMemory(const Driver& driver, const PeerRequest& request, PeerReply* reply) {
  CUdeviceptr address = 0;
  CUresult result = CUDA_ERROR_UNKNOWN;
  size_t bytes = 0;
  switch (request.call) {
    case PeerCall::kFreeBytes:
      result = driver.cuMemGetInfo(&bytes, nullptr);
      reply->value = bytes;
      return result;
    case PeerCall::kAllocate:
      result = driver.cuMemAlloc(&address, request.value);
      break;
    case PeerCall::kFree:
      return driver.cuMemFree(request.value);
    case PeerCall::kFill:
      return driver.cuMemsetD8Async(request.value, request.byte, request.count, nullptr);
    case PeerCall::kRead:
      return driver.cuMemcpyDtoH(reply->data, request.value, request.count);
    case PeerCall::kMemoryHandle: {
      CUipcMemHandle handle = {};
      result = driver.cuIpcGetMemHandle(&handle, request.value);
      return Keep(handle, result, reply);
    }
    case PeerCall::kOpenMemory:
      result = driver.cuIpcOpenMemHandle(&address, HandleOf<CUipcMemHandle>(request),
                                         CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
      break;
    case PeerCall::kCloseMemory:
      return driver.cuIpcCloseMemHandle(request.value);
    case PeerCall::kUnmap:
      result = driver.cuMemUnmap(request.value, request.count);
      return result != CUDA_SUCCESS ? result
                                    : driver.cuMemAddressFree(request.value, request.count);
    default:
      return CUDA_ERROR_UNKNOWN;
  }
  reply->value = address;
  return result;
}

CUresult ServeEvent(const Driver& driver, const PeerRequest& request, PeerReply* reply) {
  CUevent event = nullptr;
  CUresult result = CUDA_ERROR_UNKNOWN;
  switch (request.call) {
    case PeerCall::kMakeEvent:
      result = driver.cuEventCreate(&event, static_cast<unsigned>(request.value));
      break;
    case PeerCall::kOpenEvent:
      result = driver.cuIpcOpenEventHandle(&event, HandleOf<CUipcEventHandle>(request));
      break;
    case PeerCall::kRecordEvent:
      return driver.cuEventRecord(EventOf(request), nullptr);
    case PeerCall::kEventHandle: {
      CUipcEventHandle handle = {};
      result = driver.cuIpcGetEventHandle(&handle, EventOf(request));
      return Keep(handle, result, reply);
    }
    case PeerCall::kQueryEvent:
      return driver.cuEventQuery(EventOf(request));
    case PeerCall::kSynchronizeEvent:
      return driver.cuEventSynchronize(EventOf(request));
    case PeerCall::kWaitEvent:
      return driver.cuStreamWaitEvent(nullptr, EventOf(request), 0);
    case PeerCall::kSynchronize:
      return driver.cuCtxSynchronize();
    default:
      return CUDA_ERROR_UNKNOWN;
  }
  reply->value = reinterpret_cast<uintptr_t>(event);
  return result;
}

CUresult ServePool(const Driver& driver, const PeerRequest& request, int received, PeerReply* reply,
                   int* sent) {
  auto* pool = reinterpret_cast<CUmemoryPool>(request.value);
  CUdeviceptr address = 0;
  CUresult result = CUDA_ERROR_UNKNOWN;
  switch (request.call) {
    case PeerCall::kImportMapped:
      return ImportMapped(driver, received, request.count, &reply->value);
    case PeerCall::kExportMapped:
      return ExportMapped(driver, request.count, &reply->value, sent);
    case PeerCall::kMakePool:
      return MakePool(driver, &reply->value, sent);
    case PeerCall::kAllocateFromPool:
      result = driver.cuMemAllocFromPoolAsync(&address, request.count, pool, nullptr);
      if (result == CUDA_SUCCESS) result = driver.cuStreamSynchronize(nullptr);
      break;
    case PeerCall::kExportPointer: {
      CUmemPoolPtrExportData data = {};
      result = driver.cuMemPoolExportPointer(&data, request.value);
      return Keep(data, result, reply);
    }
    case PeerCall::kImportPool:
      result = driver.cuMemPoolImportFromShareableHandle(
          &pool, reinterpret_cast<void*>(static_cast<intptr_t>(received)),
          CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
      reply->value = reinterpret_cast<uintptr_t>(pool);
      return result;
    case PeerCall::kImportPointer: {
      auto data = HandleOf<CUmemPoolPtrExportData>(request);
      result = driver.cuMemPoolImportPointer(&address, pool, &data);
      break;
    }
    default:
      return CUDA_ERROR_UNKNOWN;
  }
  reply->value = address;
  return result;
}

// Runs the other process: serves requests until the socket is closed.
[[noreturn]] void ServePeer(int socket) {
  const Driver& driver = GetDriver();
  PeerRequest request;
  int received = -1;
  while (ReceiveMessage(socket, &request, sizeof(request), &received)) {
    PeerReply reply;
    int sent = -1;
    if (request.call == PeerCall::kStart) {
      reply.result = Start(driver);
    } else if (request.call >= PeerCall::kMakeEvent && request.call <= PeerCall::kSynchronize) {
      reply.result = ServeEvent(driver, request, &reply);
    } else if (request.call >= PeerCall::kImportMapped && request.call != PeerCall::kUnmap) {
      reply.result = ServePool(driver, request, received, &reply, &sent);
    } else {
      reply.result = ServeMemory(driver, request, &reply);
    }
    if (received >= 0) close(received);
    const bool sent_reply = SendMessage(socket, &reply, sizeof(reply), sent);
    if (sent >= 0) close(sent);
    if (!sent_reply) break;
  }
  _exit(0);
}

// Runs before main, and serves requests if this process is a peer.
const bool g_is_peer = [] {
  const char* socket = getenv(kPeerVariable);
  if (socket != nullptr) ServePeer(atoi(socket));
  return false;
}();

}  // namespace

Peer::Peer() {
  if (g_is_peer) return;
  GetDriver();  // sets what the other process inherits
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return;
  socket_ = ends[0];
  constexpr int kPeerSocket = 63;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], kPeerSocket);
  const std::string setting = std::string(kPeerVariable) + "=" + std::to_string(kPeerSocket);
  std::vector<char*> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  environment.push_back(const_cast<char*>(setting.c_str()));
  environment.push_back(nullptr);
  char program[] = "/proc/self/exe";
  char* arguments[] = {program, nullptr};
  posix_spawn(&process_, program, &actions, nullptr, arguments, environment.data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  EXPECT_EQ(CUDA_SUCCESS, Ask(PeerCall::kStart).result) << "the other process cannot start";
}

Peer::~Peer() {
  if (socket_ >= 0) close(socket_);
  if (process_ > 0) waitpid(process_, nullptr, 0);
}

PeerReply Peer::Ask(const PeerRequest& request, int descriptor, int* received) {
  PeerReply reply;
  int got = -1;
  if (!SendMessage(socket_, &request, sizeof(request), descriptor) ||
      !ReceiveMessage(socket_, &reply, sizeof(reply), &got)) {
    reply = {};
  }
  if (received != nullptr) {
    *received = got;
  } else if (got >= 0) {
    close(got);
  }
  return reply;
}

void Peer::Kill() {
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  process_ = -1;
}

}  // namespace vramstow::simulator
