#include "interpose/core/pools/imports.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/control.h"
#include "base/monotonic_clock.h"
#include "base/rounding.h"
#include "interpose/core/pools/pool_trace.h"
#include "interpose/core/record/facts.h"
#include "interpose/core/runtime/driver.h"
#include "interpose/core/runtime/process.h"

namespace vramstow {
namespace {

constexpr int kPatienceMs = 10'000;

template <typename Function>
Function Real(const Driver& driver, Hook hook) {
  return reinterpret_cast<Function>(driver.real(hook));
}

int ConnectTo(const Options& options, const IpcHandle& handle) {
  char folder[kMaxControlPath];
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (!ControlDirectory(options.control_dir, std::getenv("XDG_RUNTIME_DIR"), geteuid(), folder,
                        sizeof folder) ||
      !ControlSocketPath(folder, static_cast<pid_t>(handle.process), address.sun_path,
                         sizeof address.sun_path)) {
    return -1;
  }
  const int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (client < 0) return -1;
  // A signal may interrupt each of these calls.
  int result = 0;
  do {
    result = connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  } while (result != 0 && errno == EINTR);
  if (result == 0) return client;
  close(client);
  return -1;
}

// Receives one answer with its descriptors. Returns the number of descriptors, or -1 after an
// error.
int ReceiveDescriptors(int client, int* descriptors) {
  char text[256];
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxIpcDescriptors)];
  iovec part = {text, sizeof text};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  constexpr uint64_t kNsPerMs = 1'000'000;
  const uint64_t deadline = MonotonicTime() + kPatienceMs * kNsPerMs;
  ssize_t got = -1;
  do {
    const uint64_t now = MonotonicTime();
    const uint64_t left_ms = now < deadline ? (deadline - now) / kNsPerMs : 0;
    pollfd wait = {client, POLLIN, 0};
    const int ready = poll(&wait, 1, static_cast<int>(left_ms));
    if (ready == 0 || (ready < 0 && errno != EINTR)) return -1;
    if (ready > 0) got = recvmsg(client, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && (errno == EINTR || errno == EAGAIN));
  if (got <= 0) return -1;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    std::memcpy(descriptors, CMSG_DATA(header), count * sizeof(int));
    return static_cast<int>(count);
  }
  return -1;
}

uint64_t PageDown(const IpcHandle& handle) {
  return handle.address / handle.page_bytes * handle.page_bytes;
}

uint64_t PlaceInPage(const IpcHandle& handle) { return handle.address - PageDown(handle); }

}  // namespace

int Imports::FetchDescriptors(const IpcHandle& handle, uint64_t first, int* descriptors) const {
  const int client = ConnectTo(process_.options(), handle);
  if (client < 0) return -1;
  char request[kMaxControlRequest];
  const int length = std::snprintf(
      request, sizeof request, "%sipc %llx %llx %llx %llx\n", kControlGreeting,
      static_cast<unsigned long long>(handle.address), static_cast<unsigned long long>(handle.id),
      static_cast<unsigned long long>(handle.proof), static_cast<unsigned long long>(first));
  const auto size = static_cast<size_t>(length);
  int count = -1;
  if (send(client, request, size, MSG_NOSIGNAL) == length) {
    count = ReceiveDescriptors(client, descriptors);
  }
  close(client);
  return count;
}

// Emits an event in layer kPool, because the memory itself belongs to the other process.
void Imports::Emit(EventKind kind, MemoryKind memory, uint64_t address, uint64_t size,
                   uint64_t object) const {
  Event event;
  event.kind = kind;
  event.layer = Layer::kPool;
  event.memory = memory;
  event.address = address;
  event.size = size;
  event.object = object;
  const EventSink sink = trace_.Sink(process_.options());
  sink.take(sink.context, &event);
}

// Maps the chunk of a descriptor; the mapping keeps the chunk alive.
CUresult Imports::MapOne(CUdeviceptr address, uint64_t size, int descriptor) const {
  auto* import_handle = Real<decltype(&::cuMemImportFromShareableHandle)>(
      driver_, Hook::kcuMemImportFromShareableHandle);
  auto* map = Real<decltype(&::cuMemMap)>(driver_, Hook::kcuMemMap);
  auto* release = Real<decltype(&::cuMemRelease)>(driver_, Hook::kcuMemRelease);
  CUmemGenericAllocationHandle handle = 0;
  auto* const place = reinterpret_cast<void*>(static_cast<intptr_t>(descriptor));
  CUresult result = import_handle(&handle, place, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  if (result != CUDA_SUCCESS) return result;
  result = map(address, size, 0, handle, 0);
  if (result == CUDA_SUCCESS) {
    Emit(EventKind::kMap, MemoryKind::kPhysical, address, size, handle);
  }
  Emit(EventKind::kFree, MemoryKind::kPhysical, handle, size, 0);
  release(handle);
  return result;
}

CUresult Imports::SetAccessFor(int device, CUdeviceptr address, uint64_t size) const {
  auto* set_access = Real<decltype(&::cuMemSetAccess)>(driver_, Hook::kcuMemSetAccess);
  CUmemAccessDesc access = {};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return set_access(address, size, &access, 1);
}

bool Imports::DriverCan() const {
  for (const Hook hook : {Hook::kcuMemImportFromShareableHandle, Hook::kcuMemMap,
                          Hook::kcuMemRelease, Hook::kcuMemAddressReserve, Hook::kcuMemAddressFree,
                          Hook::kcuMemUnmap, Hook::kcuMemSetAccess}) {
    if (driver_.real(hook) == nullptr) return false;
  }
  return driver_.cuCtxGetDevice() != nullptr && driver_.cuCtxSynchronize() != nullptr;
}

Imports::Import* Imports::Find(const IpcHandle& handle) {
  for (int i = 0; i < count_; ++i) {
    if (imports_[i].range != 0 && std::memcmp(&imports_[i].handle, &handle, sizeof handle) == 0) {
      return &imports_[i];
    }
  }
  return nullptr;
}

// Returns the place of a context, or the first unused place for null; null if there is none.
Imports::Import::Opener* Imports::FindOpener(Import* import, CUcontext context) {
  for (Import::Opener& opener : import->openers) {
    const bool used = opener.count != 0;
    if (context == nullptr ? !used : used && opener.context == context) return &opener;
  }
  return nullptr;
}

// Lets FindBlock find the import. The driver describes the memory as the first chunk.
void Imports::Show(const Import& import, CUcontext context) {
  ImportedBlock block;
  block.address = import.range + PlaceInPage(import.handle);
  block.size = import.handle.size;
  block.context = context;
  const auto ask = Real<decltype(&::cuPointerGetAttribute)>(driver_, Hook::kcuPointerGetAttribute);
  unsigned long long id = 0;  // NOLINT(google-runtime-int): the driver's type
  int device = 0;
  if (ask != nullptr) {
    if (ask(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, import.range) == CUDA_SUCCESS) block.id = id;
    if (ask(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, import.range) == CUDA_SUCCESS) {
      block.device = static_cast<int16_t>(device);
    }
  }
  MutexLock lock(&visible_mutex_);
  Visible& visible = visible_[&import - imports_];
  if (visible.range == 0) visible_count_.fetch_add(1, std::memory_order_release);
  visible = {import.range, import.pages * import.handle.page_bytes, block};
}

void Imports::Hide(const Import& import) {
  MutexLock lock(&visible_mutex_);
  Visible& visible = visible_[&import - imports_];
  if (visible.range != 0) visible_count_.fetch_sub(1, std::memory_order_release);
  visible = Visible();
}

bool Imports::FindBlock(CUdeviceptr address, ImportedBlock* block) {
  if (visible_count_.load(std::memory_order_acquire) == 0) [[likely]] {
    return false;
  }
  MutexLock lock(&visible_mutex_);
  for (const Visible& visible : visible_) {
    if (visible.range == 0 || address < visible.range || address - visible.range >= visible.bytes) {
      continue;
    }
    const bool inside =
        address >= visible.block.address && address - visible.block.address < visible.block.size;
    *block = inside ? visible.block : ImportedBlock();
    return true;
  }
  return false;
}

CUresult Imports::Open(const CUipcMemHandle& packed, CUdeviceptr* address, uint64_t* size) {
  IpcHandle handle;
  std::memcpy(&handle, &packed, sizeof handle);
  if (address == nullptr || handle.page_bytes == 0 || handle.size == 0 ||
      (handle.page_bytes & (handle.page_bytes - 1)) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  // The driver's documentation forbids it to open a handle in the process that owns the memory.
  if (handle.process == static_cast<uint32_t>(getpid())) return CUDA_ERROR_INVALID_CONTEXT;
  if (!DriverCan()) return CUDA_ERROR_NOT_SUPPORTED;
  // If the owner runs in another container, its process number is different here, or unknown.
  const uint64_t start = ProcessStart(static_cast<pid_t>(handle.process));
  if (start != 0 && start != handle.process_start) return CUDA_ERROR_INVALID_VALUE;
  MutexLock lock(&mutex_);
  Import* import = Find(handle);
  if (import == nullptr) {
    int place = 0;
    while (place < count_ && imports_[place].range != 0) ++place;
    if (place == kMax) return CUDA_ERROR_OUT_OF_MEMORY;
    import = &imports_[place];
    *import = {handle, 0, 0, {}, 0};
    const CUresult result = MapAll(import);
    if (result != CUDA_SUCCESS) return result;
    if (place == count_) ++count_;
  } else if (const CUresult result = GiveAccess(import); result != CUDA_SUCCESS) {
    return result;
  }
  const CUcontext context = driver_.CurrentContext();
  Import::Opener* opener = FindOpener(import, context);
  if (opener == nullptr) opener = FindOpener(import, nullptr);
  if (opener == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *opener = {context, opener->count + 1};
  Settle(import);
  *address = import->range + PlaceInPage(handle);
  *size = handle.size;
  return CUDA_SUCCESS;
}

CUresult Imports::MapAll(Import* import) {
  const IpcHandle& handle = import->handle;
  const uint64_t page = handle.page_bytes;
  const uint64_t bytes = handle.address - PageDown(handle) + handle.size;
  const uint64_t pages = DivideUp(bytes, page);
  CUdeviceptr range = 0;
  auto* reserve = Real<decltype(&::cuMemAddressReserve)>(driver_, Hook::kcuMemAddressReserve);
  CUresult result = reserve(&range, pages * page, page, 0, 0);
  if (result != CUDA_SUCCESS) return result;
  Emit(EventKind::kReserve, MemoryKind::kAddressRange, range, pages * page, 0);
  import->range = range;
  import->pages = pages;
  uint64_t mapped = 0;
  while (mapped < pages && result == CUDA_SUCCESS) {
    int descriptors[kMaxIpcDescriptors];
    const int count = FetchDescriptors(handle, mapped, descriptors);
    if (count <= 0) result = CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; i < count; ++i) {
      if (result == CUDA_SUCCESS && mapped < pages) {
        result = MapOne(range + mapped * page, page, descriptors[i]);
        if (result == CUDA_SUCCESS) ++mapped;
      }
      close(descriptors[i]);
    }
  }
  if (result == CUDA_SUCCESS) result = GiveAccess(import);
  if (result == CUDA_SUCCESS) return result;
  UnmapAll(*import, mapped);
  import->range = 0;
  return result;
}

// Gives the device of the current context access to the memory. Other devices keep theirs.
CUresult Imports::GiveAccess(Import* import) const {
  CUdevice device = 0;
  CUresult result = driver_.cuCtxGetDevice()(&device);
  if (result != CUDA_SUCCESS) return result;
  const uint64_t bit = device < 64 ? uint64_t{1} << device : 0;
  if ((import->devices & bit) != 0) return CUDA_SUCCESS;
  result = SetAccessFor(device, import->range, import->pages * import->handle.page_bytes);
  if (result == CUDA_SUCCESS) import->devices |= bit;
  return result;
}

void Imports::UnmapAll(const Import& import, uint64_t mapped) {
  auto* unmap = Real<decltype(&::cuMemUnmap)>(driver_, Hook::kcuMemUnmap);
  auto* address_free = Real<decltype(&::cuMemAddressFree)>(driver_, Hook::kcuMemAddressFree);
  const uint64_t page = import.handle.page_bytes;
  for (uint64_t i = 0; i < mapped; ++i) {
    Emit(EventKind::kUnmap, MemoryKind::kPhysical, import.range + i * page, page, 0);
    unmap(import.range + i * page, page);
  }
  Emit(EventKind::kUnreserve, MemoryKind::kAddressRange, import.range, import.pages * page, 0);
  address_free(import.range, import.pages * page);
}

bool Imports::Close(CUdeviceptr address, CUresult* result) {
  MutexLock lock(&mutex_);
  for (int i = 0; i < count_; ++i) {
    Import& import = imports_[i];
    if (import.range == 0) continue;
    if (import.range + PlaceInPage(import.handle) != address) continue;
    // Waits for the work of the context that closes, because unmapping does not wait for kernels.
    // The contexts of several GPUs may have opened the memory, each of which closes it.
    *result = driver_.cuCtxSynchronize()();
    if (*result != CUDA_SUCCESS) return true;
    Import::Opener* opener = FindOpener(&import, driver_.CurrentContext());
    for (Import::Opener& other : import.openers) {
      if (opener == nullptr && other.count != 0) opener = &other;
    }
    if (opener != nullptr) --opener->count;
    Settle(&import);
    return true;
  }
  return false;
}

// Unmaps the import if no context has it open. Else it belongs to a context that has.
void Imports::Settle(Import* import) {
  const Import::Opener* left = nullptr;
  for (const Import::Opener& opener : import->openers) {
    if (opener.count != 0 && left == nullptr) left = &opener;
  }
  if (left != nullptr) return Show(*import, left->context);
  Hide(*import);
  UnmapAll(*import, import->pages);
  import->range = 0;
}

void Imports::ContextGone(CUcontext context) {
  if (context == nullptr || visible_count_.load(std::memory_order_acquire) == 0) return;
  MutexLock lock(&mutex_);
  for (int i = 0; i < count_; ++i) {
    Import& import = imports_[i];
    Import::Opener* const opener = import.range == 0 ? nullptr : FindOpener(&import, context);
    if (opener == nullptr) continue;
    opener->count = 0;
    Settle(&import);
  }
}

void Imports::AbandonAfterFork() {
  mutex_.Reset();
  visible_mutex_.Reset();
  count_ = 0;
  visible_count_.store(0, std::memory_order_relaxed);
  for (Visible& visible : visible_) visible = Visible();
}

}  // namespace vramstow
