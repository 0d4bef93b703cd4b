#include "simulator/driver/copy.h"

#include <string.h>

#include "simulator/driver/capture.h"
#include "simulator/driver/context.h"
#include "simulator/driver/host_memory.h"
#include "simulator/driver/host_reads.h"
#include "simulator/driver/idle_launches.h"
#include "simulator/driver/profiler.h"
#include "simulator/driver/stream.h"
#include "simulator/driver/task.h"

namespace vramstow::simulator {
namespace {

bool CanReachBox(const Contents& contents, const CopyBox& box, int stream_device) {
  const auto side = [&](const CopySide& end, bool write) {
    const int device = end.device == CopySide::kOfStream ? stream_device : end.device;
    return contents.Check(end.address, box.Reach(end), device, write, true) == Result::kSuccess;
  };
  return side(box.to, true) && side(box.from, false);
}

class CopyWork : public Work {
 public:
  CopyWork(State* state, Context* context, const CopyBox& box, TakenBytes taken)
      : state_(state),
        context_(context),
        box_(box),
        taken_(std::move(taken)),
        is_timed_by_operator_(IsTimedByOperator(*state->machine) && StaysOnCard()) {
    if (taken_.staged == nullptr) return;
    box_.from = {reinterpret_cast<uintptr_t>(taken_.staged->data()), box_.width,
                 box_.width * box_.height};
    state_->machine->contents.Stage(taken_.staged->size());
  }
  ~CopyWork() override { Unstage(); }
  CopyWork(const CopyWork&) = delete;
  CopyWork& operator=(const CopyWork&) = delete;

  void AddUses(std::vector<vramstowSimulatorRange>* uses) const override {
    uses->push_back({box_.from.address, box_.Reach(box_.from), kVramstowSimulatorReads});
    uses->push_back({box_.to.address, box_.Reach(box_.to), kVramstowSimulatorFills});
  }

  void Run(uint64_t /*time_ns*/) override {
    if (context_->sticky != CUDA_SUCCESS) return;
    Contents& contents = state_->machine->contents;
    // The memory existed when the copy was enqueued, but it may have been freed since.
    if (!CanReachBox(contents, box_, context_->device)) {
      context_->sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
      return;
    }
    NoteTraffic();
    // The caller replaces these bytes after the copy, so it does not matter whether the bytes of
    // the source were computed.
    if (taken_.are_patched) contents.uncomputed().Clear(box_.from.address, box_.Bytes());
    for (uint64_t slice = 0; slice < box_.depth; ++slice) {
      for (uint64_t row = 0; row < box_.height; ++row) {
        CopyRow(box_.to.address + slice * box_.to.slice + row * box_.to.pitch,
                box_.from.address + slice * box_.from.slice + row * box_.from.pitch);
      }
    }
    Unstage();
    if (contents.IsDevice(box_.to.address)) return;
    const char* by = contents.uncomputed().PopLastRead();
    if (!contents.IsDevice(box_.from.address)) return;
    if (!HostReads::Global().Note(state_->machine->spec(), box_, by)) {
      context_->sticky = CUDA_ERROR_LAUNCH_TIMEOUT;
    }
  }

  uint64_t DurationNs() const override {
    const Machine& machine = *state_->machine;
    if (is_timed_by_operator_) return 0;
    if (machine.model.is_on()) {
      return machine.model.CopyNs(PlaceOf(box_.to), PlaceOf(box_.from), box_.Bytes());
    }
    const Card& card = machine.card();
    const bool local = IsOnDevice(box_.to) && IsOnDevice(box_.from);
    const uint64_t speed = local ? card.local_bytes_per_us : card.link_bytes_per_us;
    return box_.Bytes() * 1000 / speed;
  }

  // A GPU has one copy engine for each direction of PCIe.
  int Engine() const override {
    const bool to_device = PlaceOf(box_.to) == CopyPlace::kDevice;
    if (to_device == (PlaceOf(box_.from) == CopyPlace::kDevice)) return kNoEngine;
    return EngineOf(context_->device, to_device ? Part::kToDevice : Part::kToHost);
  }

 private:
  // Memory of the host may be mapped at device addresses, so the address alone does not decide
  // where the memory is.
  CopyPlace PlaceOf(const CopySide& side) const {
    Machine& machine = *state_->machine;
    if (IsOnDevice(side)) {
      return machine.virtual_memory.IsOnHost(side.address) ? CopyPlace::kPinned
                                                           : CopyPlace::kDevice;
    }
    return IsPinned(machine.memory.FindAround(side.address)) ? CopyPlace::kPinned
                                                             : CopyPlace::kPageable;
  }

  void NoteTraffic() {
    const bool to_device = PlaceOf(box_.to) == CopyPlace::kDevice;
    if (to_device == (PlaceOf(box_.from) == CopyPlace::kDevice)) return;
    LinkTraffic& traffic = state_->machine->traffic;
    (to_device ? traffic.to_device_bytes : traffic.to_host_bytes)
        .fetch_add(box_.Bytes(), std::memory_order_relaxed);
  }

  bool StaysOnCard() const {
    return box_.to.device == box_.from.device && PlaceOf(box_.to) == CopyPlace::kDevice &&
           PlaceOf(box_.from) == CopyPlace::kDevice;
  }

  bool IsOnDevice(const CopySide& side) const {
    return state_->machine->contents.IsDevice(side.address);
  }

  void CopyRow(uint64_t to, uint64_t from) {
    Contents& contents = state_->machine->contents;
    const bool is_left_out = taken_.staged == nullptr && contents.LeavesOut(to, from, box_.width);
    if (!taken_.are_left_out && !is_left_out) return contents.Copy(to, from, box_.width);
    contents.LeaveOut(to, box_.width);
    NoteIdleLaunch(*state_, "a copy of the host's memory", " (beyond contents=)");
  }

  void Unstage() {
    if (taken_.staged == nullptr) return;
    state_->machine->contents.Unstage(taken_.staged->size());
    taken_.staged.reset();
  }

  State* state_;
  Context* context_;
  CopyBox box_;
  TakenBytes taken_;
  bool is_timed_by_operator_;
};

std::shared_ptr<std::vector<char>> Stage(const CopyBox& box) {
  auto bytes = std::make_shared<std::vector<char>>(box.Bytes());
  char* to = bytes->data();
  for (uint64_t slice = 0; slice < box.depth; ++slice) {
    for (uint64_t row = 0; row < box.height; ++row) {
      const uint64_t from = box.from.address + slice * box.from.slice + row * box.from.pitch;
      memcpy(to, reinterpret_cast<const void*>(from), box.width);
      to += box.width;
    }
  }
  return bytes;
}

// Logs copies between the host and a device, unless a library makes the copies in place of kernels.
void LogCopy(Machine& machine, uint64_t bytes, bool to_device, bool from_device) {
  if (!machine.work_log.is_open() || to_device == from_device) return;
  if (CurrentThread().held_kernels > 0) return;
  machine.work_log.Write({.size = sizeof(vramstowSimulatorWorkLine),
                          .kind = "copy",
                          .name = to_device ? "to_device" : "to_host",
                          .precision = "-",
                          .operations = 0,
                          .read_bytes = bytes,
                          .written_bytes = bytes,
                          .items = 0});
}

}  // namespace

CUresult NamePeers(Call& call, CUcontext to, CUcontext from, CopyBox* box) {
  const Context* to_context = FindContext(&call.state(), to);
  const Context* from_context = FindContext(&call.state(), from);
  if (to_context == nullptr || from_context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  box->to.device = to_context->device;
  box->from.device = from_context->device;
  return CUDA_SUCCESS;
}

uint64_t CopyBox::Reach(const CopySide& side) const {
  if (Bytes() == 0) return 0;
  const uint64_t slices = MultiplySizes(depth - 1, side.slice);
  return AddSizes(slices, AddSizes(MultiplySizes(height - 1, side.pitch), width));
}

std::shared_ptr<Work> MakeCopyWork(State* state, Context* context, const CopyBox& box,
                                   TakenBytes taken) {
  return std::make_shared<CopyWork>(state, context, box, std::move(taken));
}

CUresult SubmitCopy(Call& call, Stream* stream, const CopyBox& box, CopyMode mode) {
  Machine& machine = call.machine();
  const Contents& contents = machine.contents;
  if (stream->capture != nullptr) {
    if (mode == CopyMode::kSynchronous) return RefuseCapturing(call, stream);
    if (box.Bytes() == 0) return CUDA_SUCCESS;
    return CaptureCopy(call, stream, box);
  }
  if (mode == CopyMode::kSynchronous) {
    const CUresult refused = RefuseUnsafe(call);
    if (refused != CUDA_SUCCESS) return refused;
  }
  const CUresult implicit = RefuseImplicit(call, stream);
  if (implicit != CUDA_SUCCESS) return implicit;
  if (box.Bytes() == 0) return CUDA_SUCCESS;
  const int device = stream->context->device;
  if (box.to.address == 0 || box.from.address == 0 || !CanReachBox(contents, box, device)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const bool to_device = contents.IsDevice(box.to.address);
  const bool from_device = contents.IsDevice(box.from.address);
  const bool to_pageable = !to_device && !IsPinned(machine.memory.FindAround(box.to.address));
  const bool from_pageable = !from_device && !IsPinned(machine.memory.FindAround(box.from.address));

  TakenBytes taken;
  if (from_pageable && to_device && machine.spec().keep_contents) {
    taken.are_left_out = machine.contents.LeavesOut(box.to.address, box.from.address, box.width);
    if (!taken.are_left_out) taken.staged = Stage(box);
  }
  taken.are_patched = from_device && !to_device && PatchesRead(box);
  const bool is_patched = taken.are_patched;
  const auto describe = [&] {
    return DescribeCopy(call.state(), box, mode == CopyMode::kAsynchronous);
  };
  LogCopy(machine, box.Bytes(), to_device, from_device);
  if (from_device && !to_device) machine.contents.GiveBackZeros(box.to.address, box.width);
  const Mark mark = Submit(
      call, stream,
      Observed(call, *stream, MakeCopyWork(&call.state(), stream->context, box, std::move(taken)),
               describe));
  if (is_patched) PatchRead(call, stream, box);
  const bool host_only = !to_device && !from_device;
  const bool wait =
      mode == CopyMode::kSynchronous ? !(to_device && from_device) : to_pageable || host_only;
  return wait ? call.Wait(mark) : CUDA_SUCCESS;
}

}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

namespace {

uint64_t Address(const void* host) { return reinterpret_cast<uintptr_t>(host); }

CUresult CopyRow(const char* name, uint64_t to, uint64_t from, size_t bytes, CUstream handle,
                 CopyMode mode) {
  return Serve(name, Needs::kContext, [&](Call& call) {
    Stream* stream = FindStream(call, handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    return SubmitCopy(call, stream, CopyBox::Row(to, from, bytes), mode);
  });
}

CUresult CopyBetweenPeers(const char* name, const CopyBox& row, CUcontext to, CUcontext from,
                          CUstream handle, CopyMode mode) {
  return Serve(name, Needs::kContext, [&](Call& call) {
    Stream* stream = FindStream(call, handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    CopyBox box = row;
    const CUresult named = NamePeers(call, to, from, &box);
    return named != CUDA_SUCCESS ? named : SubmitCopy(call, stream, box, mode);
  });
}

}  // namespace

extern "C" {

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return CopyRow("cuMemcpy", to, from, bytes, nullptr, kNow);
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
  return CopyRow("cuMemcpyHtoD", to, Address(from), bytes, nullptr, kNow);
}

CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) {
  return CopyRow("cuMemcpyDtoH", Address(to), from, bytes, nullptr, kNow);
}

CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return CopyRow("cuMemcpyDtoD", to, from, bytes, nullptr, kNow);
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return CopyRow("cuMemcpyAsync", to, from, bytes, stream, kLater);
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return CopyRow("cuMemcpyHtoDAsync", to, Address(from), bytes, stream, kLater);
}

CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return CopyRow("cuMemcpyDtoHAsync", Address(to), from, bytes, stream, kLater);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return CopyRow("cuMemcpyDtoDAsync", to, from, bytes, stream, kLater);
}

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                      CUcontext from_context, size_t bytes) {
  return CopyBetweenPeers("cuMemcpyPeer", CopyBox::Row(to, from, bytes), to_context, from_context,
                          nullptr, kNow);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                           CUcontext from_context, size_t bytes, CUstream stream) {
  return CopyBetweenPeers("cuMemcpyPeerAsync", CopyBox::Row(to, from, bytes), to_context,
                          from_context, stream, kLater);
}

}  // extern "C"
