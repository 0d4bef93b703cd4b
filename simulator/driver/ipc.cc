// Shares memory of cuMemAlloc between processes.
//
// Idea: the bytes of a device lie in a file that its process holds open; a handle gives their
// position. A process that opens the handle maps the same pages of the same file, so each process
// reads what the other writes.
#include "simulator/driver/ipc.h"

#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

#include "simulator/driver/context.h"
#include "simulator/driver/event_sharing.h"

namespace vramstow::simulator {
namespace {

constexpr uint64_t kSharedPage = 4096;

// Memory that this process has opened, and how often the process has opened it.
struct Import {
  Ticket ticket;
  const Context* context = nullptr;
  uint64_t address = 0;
  uint64_t opened = 0;
};

// Tables of exported and imported blocks. Guarded by the driver's lock; never destroyed.
struct SharingTables {
  std::unordered_map<uint64_t, Ticket> offered;  // the key is the block's id
  std::vector<Import> imports;
};
SharingTables& Sharing() {
  static auto* tables = new SharingTables;
  return *tables;
}

// Returns the offset of the first page that shows an imported block.
uint64_t PageOffset(uint64_t offset) { return offset & ~(kSharedPage - 1); }

CUresult OfferBlock(Call& call, Block* block, Ticket* ticket) {
  const auto known = Sharing().offered.find(block->id);
  if (known != Sharing().offered.end()) {
    *ticket = known->second;
    return CUDA_SUCCESS;
  }
  const AddressSpace& space = call.machine().space();
  const int card = call.machine().spec().cards[block->device];
  if (!OwnExports().Offer(ExportKind::kMemory, card, ticket)) return CUDA_ERROR_OUT_OF_MEMORY;
  ticket->memory_file = space.descriptor(block->device);
  ticket->offset = block->address - space.plain_base(block->device);
  ticket->size = block->requested;
  // From here on another process may write to the block without notice.
  block->touched = true;
  block->exported = true;
  Sharing().offered[block->id] = *ticket;
  return CUDA_SUCCESS;
}

CUresult OpenTicket(Call& call, const Ticket& ticket, CUdeviceptr* address) {
  const Spec& spec = call.machine().spec();
  if (ticket.kind != ExportKind::kMemory) return CUDA_ERROR_INVALID_VALUE;
  if (IsOwn(ticket)) return CUDA_ERROR_INVALID_CONTEXT;  // only other processes may open it
  for (Import& import : Sharing().imports) {
    if (import.context != call.context() || memcmp(&import.ticket, &ticket, sizeof(ticket)) != 0) {
      continue;
    }
    ++import.opened;  // as documented, each opening returns the same address
    *address = import.address;
    return CUDA_SUCCESS;
  }
  const int device = DeviceOfCard(spec, ticket.card);
  if (device < 0) return CUDA_ERROR_INVALID_DEVICE;
  const bool reach = call.machine().card().nvlink && (spec.without & kPeer) == 0;
  if (device != call.device() && !reach) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  if (!IsOffered(ticket)) return CUDA_ERROR_INVALID_VALUE;
  const Block* block = ShowTicket(&call.machine(), ticket, device, call.context());
  if (block == nullptr) return CUDA_ERROR_MAP_FAILED;
  Sharing().imports.push_back({ticket, call.context(), block->address, 1});
  *address = block->address;
  return CUDA_SUCCESS;
}

}  // namespace

int DeviceOfCard(const Spec& spec, int card) {
  const auto found = std::find(spec.cards.begin(), spec.cards.end(), card);
  return found == spec.cards.end() ? -1 : static_cast<int>(found - spec.cards.begin());
}

Block* ShowTicket(Machine* machine, const Ticket& ticket, int device, const void* owner) {
  const int file = OpenMemory(ticket);
  if (file < 0) return nullptr;
  const uint64_t start = PageOffset(ticket.offset);
  const uint64_t inside = ticket.offset - start;
  const uint64_t shown = machine->virtual_memory.ShowFile(file, start, inside + ticket.size);
  if (shown == 0) {
    close(file);
    return nullptr;
  }
  return machine->memory.AddImported({.address = shown + inside,
                                      .size = ticket.size,
                                      .requested = ticket.size,
                                      .owner = owner,
                                      .device = device,
                                      .file = file,
                                      .file_offset = ticket.offset});
}

void EndImport(Machine* machine, Block* block) {
  std::erase_if(Sharing().imports,
                [block](const Import& import) { return import.address == block->address; });
  const uint64_t inside = block->file_offset - PageOffset(block->file_offset);
  machine->virtual_memory.HideFile(block->address - inside, block->size + inside);
  close(block->file);
  machine->memory.Release(block);
}

void WithdrawBlock(const Block& block) {
  if (!block.exported) return;
  const auto offered = Sharing().offered.find(block.id);
  if (offered == Sharing().offered.end()) return;
  OwnExports().Withdraw(offered->second);
  Sharing().offered.erase(offered);
}

}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

extern "C" {

CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  return Serve("cuIpcGetMemHandle", Needs::kContext, [&](Call& call) -> CUresult {
    if ((call.machine().spec().without & kIpc) != 0) return CUDA_ERROR_NOT_SUPPORTED;
    // As documented, only memory of cuMemAlloc and cuMemAllocPitch is exported. An address inside a
    // block stands for the block.
    Block* block = call.machine().memory.FindAround(address);
    if (handle == nullptr || block == nullptr ||
        (block->kind != BlockKind::kDevice && block->kind != BlockKind::kPitched)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    Ticket ticket;
    const CUresult result = OfferBlock(call, block, &ticket);
    static_assert(sizeof(*handle) == sizeof(ticket));
    if (result == CUDA_SUCCESS) memcpy(handle, &ticket, sizeof(ticket));
    return result;
  });
}

#undef cuIpcOpenMemHandle
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* address, CUipcMemHandle handle, unsigned int flags) {
  return Serve("cuIpcOpenMemHandle", Needs::kContext, [&](Call& call) -> CUresult {
    if ((call.machine().spec().without & kIpc) != 0) return CUDA_ERROR_NOT_SUPPORTED;
    if (address == nullptr || (flags & ~CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const auto ticket = std::bit_cast<Ticket>(handle);
    return OpenTicket(call, ticket, address);
  });
}
CUresult cuIpcOpenMemHandle(CUdeviceptr* address, CUipcMemHandle handle, unsigned int flags) {
  return cuIpcOpenMemHandle_v2(address, handle, flags);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  return Serve("cuIpcCloseMemHandle", Needs::kContext, [&](Call& call) -> CUresult {
    if ((call.machine().spec().without & kIpc) != 0) return CUDA_ERROR_NOT_SUPPORTED;
    const auto find = [address] {
      return std::find_if(Sharing().imports.begin(), Sharing().imports.end(),
                          [address](const Import& import) { return import.address == address; });
    };
    auto import = find();
    if (import == Sharing().imports.end()) return CUDA_ERROR_INVALID_VALUE;
    if (--import->opened > 0) return CUDA_SUCCESS;
    // Work that uses the memory has to end before the addresses are freed.
    ++import->opened;
    const CUresult waited = WaitForContext(&call.state(), *import->context);
    if (waited != CUDA_SUCCESS) return waited;
    import = find();  // another thread may have opened it again, or closed it
    if (import == Sharing().imports.end()) return CUDA_ERROR_INVALID_VALUE;
    if (--import->opened == 0) {
      EndImport(&call.machine(), call.machine().memory.FindExact(address));
    }
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
