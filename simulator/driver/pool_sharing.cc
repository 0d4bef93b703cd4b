// Shares pools between processes: a file descriptor stands for a pool, and a handle of 64 bytes
// stands for a block in it.
//
// Idea: a ticket (simulator/device/exports.h) names an object of another process. The descriptor
// belongs to a small file that contains the pool's ticket. The ticket of a block is that of its
// pool, with the position of the block. An imported pool has no memory of its own.
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>

#include "simulator/driver/context.h"
#include "simulator/driver/event_sharing.h"
#include "simulator/driver/ipc.h"
#include "simulator/driver/pool.h"

namespace vramstow::simulator {
namespace {

constexpr char kFileName[] = "vramstow-pool";

// Returns a negative number if the system gives no descriptor.
int MakeTicketFile(const Ticket& ticket) {
  const int file = memfd_create(kFileName, MFD_CLOEXEC);
  if (file < 0) return -1;
  if (write(file, &ticket, sizeof(ticket)) == static_cast<ssize_t>(sizeof(ticket))) return file;
  close(file);
  return -1;
}

bool ReadTicketFile(int file, Ticket* ticket) {
  char link[64];
  char name[128] = {};
  snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
  if (readlink(link, name, sizeof(name) - 1) < 0) return false;
  if (strstr(name, kFileName) == nullptr) return false;
  return pread(file, ticket, sizeof(*ticket), 0) == static_cast<ssize_t>(sizeof(*ticket)) &&
         ticket->kind == ExportKind::kPool;
}

CUresult OfferPool(Call& call, Pool* pool) {
  if (pool->ticket.id != 0) return CUDA_SUCCESS;
  const int card = call.machine().spec().cards[pool->place.device];
  if (!OwnExports().Offer(ExportKind::kPool, card, &pool->ticket)) return CUDA_ERROR_OUT_OF_MEMORY;
  pool->ticket.memory_file = call.machine().space().descriptor(pool->place.device);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

extern "C" {

CUresult cuMemPoolExportToShareableHandle(void* shareable, CUmemoryPool handle,
                                          CUmemAllocationHandleType type,
                                          unsigned long long flags) {
  return Serve("cuMemPoolExportToShareableHandle", Needs::kInit, [&](Call& call) -> CUresult {
    Pool* pool = FindPool(handle);
    if (shareable == nullptr || pool == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    // As documented, only a pool that was created with this type of handle can be exported.
    if (pool->imported || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
        (pool->handle_types & type) == 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const CUresult result = OfferPool(call, pool);
    if (result != CUDA_SUCCESS) return result;
    const int file = MakeTicketFile(pool->ticket);
    if (file < 0) return CUDA_ERROR_OPERATING_SYSTEM;
    memcpy(shareable, &file, sizeof(file));  // the caller closes it
    return CUDA_SUCCESS;
  });
}

// `shareable` is not a pointer here: its value is the file descriptor.
CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool* out, void* shareable,
                                            CUmemAllocationHandleType type,
                                            unsigned long long flags) {
  return Serve("cuMemPoolImportFromShareableHandle", Needs::kInit, [&](Call& call) -> CUresult {
    if (out == nullptr || flags != 0 || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    Ticket ticket;
    const auto file = static_cast<int>(reinterpret_cast<intptr_t>(shareable));
    if (!ReadTicketFile(file, &ticket)) return CUDA_ERROR_INVALID_VALUE;
    const int device = DeviceOfCard(call.machine().spec(), ticket.card);
    if (device < 0) return CUDA_ERROR_INVALID_DEVICE;
    if (!IsOffered(ticket)) return CUDA_ERROR_INVALID_VALUE;
    Pool* pool = NewPool({PoolKind::kDevice, device});
    pool->imported = true;
    pool->ticket = ticket;
    *out = reinterpret_cast<CUmemoryPool>(pool);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData* data, CUdeviceptr address) {
  return Serve("cuMemPoolExportPointer", Needs::kInit, [&](Call& call) -> CUresult {
    const Block* block = call.machine().memory.FindExact(address);
    if (data == nullptr || block == nullptr || block->kind != BlockKind::kPool ||
        block->pool == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    auto* pool = static_cast<Pool*>(block->pool);
    if (pool->handle_types == CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_INVALID_VALUE;
    const CUresult result = OfferPool(call, pool);
    if (result != CUDA_SUCCESS) return result;
    Ticket ticket = pool->ticket;
    ticket.kind = ExportKind::kPoolPointer;
    ticket.offset = block->address - call.machine().space().plain_base(block->device);
    ticket.size = block->requested;
    static_assert(sizeof(*data) == sizeof(ticket));
    memcpy(data, &ticket, sizeof(ticket));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolImportPointer(CUdeviceptr* address, CUmemoryPool handle,
                                CUmemPoolPtrExportData* data) {
  return Serve("cuMemPoolImportPointer", Needs::kContext, [&](Call& call) -> CUresult {
    Pool* pool = FindPool(handle);
    if (address == nullptr || data == nullptr || pool == nullptr || !pool->imported) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const auto ticket = std::bit_cast<Ticket>(*data);
    // The ticket must name a block of this pool.
    if (ticket.kind != ExportKind::kPoolPointer || ticket.id != pool->ticket.id ||
        ticket.process != pool->ticket.process || !IsOffered(ticket)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    Block* block = ShowTicket(&call.machine(), ticket, pool->place.device, call.context());
    if (block == nullptr) return CUDA_ERROR_MAP_FAILED;
    block->pool = pool;
    *address = block->address;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
