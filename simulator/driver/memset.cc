// Implements the functions that fill memory.
#include <cuda.h>

#include "simulator/driver/capture.h"
#include "simulator/driver/fill.h"
#include "simulator/driver/host_memory.h"
#include "simulator/driver/profiler.h"
#include "simulator/driver/stream.h"

namespace vramstow::simulator {
namespace {

class FillWork : public Work {
 public:
  FillWork(State* state, Context* context, const FillBox& box)
      : state_(state),
        context_(context),
        box_(box),
        is_timed_by_operator_(IsTimedByOperator(*state->machine)) {}

  void AddUses(std::vector<vramstowSimulatorRange>* uses) const override {
    uses->push_back({box_.address, box_.Reach(), kVramstowSimulatorFills});
  }

  void Run(uint64_t /*time_ns*/) override {
    if (context_->sticky != CUDA_SUCCESS) return;
    Contents& contents = state_->machine->contents;
    if (contents.Check(box_.address, box_.Reach(), context_->device, true, true) !=
        Result::kSuccess) {
      context_->sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
      return;
    }
    for (uint64_t row = 0; row < box_.height; ++row) {
      contents.Fill(box_.address + row * box_.pitch, box_.value, box_.element, box_.width);
    }
  }

  uint64_t DurationNs() const override {
    if (is_timed_by_operator_) return 0;
    return box_.element * box_.width * box_.height * 1000 /
           state_->machine->card().local_bytes_per_us;
  }

 private:
  State* state_;
  Context* context_;
  FillBox box_;
  bool is_timed_by_operator_;
};

}  // namespace

std::shared_ptr<Work> MakeFillWork(State* state, Context* context, const FillBox& box) {
  return std::make_shared<FillWork>(state, context, box);
}

CUresult SubmitFill(Call& call, Stream* stream, const FillBox& box, bool asynchronous) {
  if (!box.HasOwnRows()) return CUDA_ERROR_INVALID_VALUE;
  if (stream->capture != nullptr) {
    if (!asynchronous) return RefuseCapturing(call, stream);
    return CaptureFill(call, stream, box);
  }
  if (!asynchronous) {
    const CUresult refused = RefuseUnsafe(call);
    if (refused != CUDA_SUCCESS) return refused;
  }
  const CUresult implicit = RefuseImplicit(call, stream);
  if (implicit != CUDA_SUCCESS) return implicit;
  if (box.width == 0 || box.height == 0) return CUDA_SUCCESS;
  Machine& machine = call.machine();
  const Block* block = machine.memory.FindAround(box.address);
  const bool device = machine.contents.IsDevice(box.address);
  if (box.address % box.element != 0 || (!device && !IsPinned(block)) ||
      machine.contents.Check(box.address, box.Reach(), stream->context->device, true, true) !=
          Result::kSuccess) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const Mark mark = Submit(
      call, stream, Observed(call, *stream, MakeFillWork(&call.state(), stream->context, box), [&] {
        WorkNote note = DescribeFill(box, asynchronous);
        note.to = device ? kVramstowSimulatorOnDevice : kVramstowSimulatorPinned;
        return note;
      }));
  // As documented, the call is asynchronous for the host unless the target is pinned host memory.
  const bool wait =
      !asynchronous && block != nullptr && block->kind != BlockKind::kManaged && !block->OnDevice();
  return wait ? call.Wait(mark) : CUDA_SUCCESS;
}

}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

namespace {

CUresult Fill(const char* name, const FillBox& box, CUstream handle, bool asynchronous) {
  return Serve(name, Needs::kContext, [&](Call& call) {
    Stream* stream = FindStream(call, handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    return SubmitFill(call, stream, box, asynchronous);
  });
}

FillBox Row(CUdeviceptr address, uint32_t value, int element, size_t count) {
  return {.address = address,
          .pitch = count * element,
          .value = value,
          .element = element,
          .width = count,
          .height = 1};
}

FillBox Rows(CUdeviceptr address, size_t pitch, uint32_t value, int element, size_t width,
             size_t height) {
  return {.address = address,
          .pitch = pitch,
          .value = value,
          .element = element,
          .width = width,
          .height = height};
}

}  // namespace

extern "C" {

CUresult cuMemsetD8(CUdeviceptr address, unsigned char value, size_t count) {
  return Fill("cuMemsetD8", Row(address, value, 1, count), nullptr, false);
}

CUresult cuMemsetD16(CUdeviceptr address, unsigned short value, size_t count) {
  return Fill("cuMemsetD16", Row(address, value, 2, count), nullptr, false);
}

CUresult cuMemsetD32(CUdeviceptr address, unsigned int value, size_t count) {
  return Fill("cuMemsetD32", Row(address, value, 4, count), nullptr, false);
}

CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t count, CUstream stream) {
  return Fill("cuMemsetD8Async", Row(address, value, 1, count), stream, true);
}

CUresult cuMemsetD16Async(CUdeviceptr address, unsigned short value, size_t count,
                          CUstream stream) {
  return Fill("cuMemsetD16Async", Row(address, value, 2, count), stream, true);
}

CUresult cuMemsetD32Async(CUdeviceptr address, unsigned int value, size_t count, CUstream stream) {
  return Fill("cuMemsetD32Async", Row(address, value, 4, count), stream, true);
}

CUresult cuMemsetD2D8(CUdeviceptr address, size_t pitch, unsigned char value, size_t width,
                      size_t height) {
  return Fill("cuMemsetD2D8", Rows(address, pitch, value, 1, width, height), nullptr, false);
}

CUresult cuMemsetD2D16(CUdeviceptr address, size_t pitch, unsigned short value, size_t width,
                       size_t height) {
  return Fill("cuMemsetD2D16", Rows(address, pitch, value, 2, width, height), nullptr, false);
}

CUresult cuMemsetD2D32(CUdeviceptr address, size_t pitch, unsigned int value, size_t width,
                       size_t height) {
  return Fill("cuMemsetD2D32", Rows(address, pitch, value, 4, width, height), nullptr, false);
}

CUresult cuMemsetD2D8Async(CUdeviceptr address, size_t pitch, unsigned char value, size_t width,
                           size_t height, CUstream stream) {
  return Fill("cuMemsetD2D8Async", Rows(address, pitch, value, 1, width, height), stream, true);
}

CUresult cuMemsetD2D16Async(CUdeviceptr address, size_t pitch, unsigned short value, size_t width,
                            size_t height, CUstream stream) {
  return Fill("cuMemsetD2D16Async", Rows(address, pitch, value, 2, width, height), stream, true);
}

CUresult cuMemsetD2D32Async(CUdeviceptr address, size_t pitch, unsigned int value, size_t width,
                            size_t height, CUstream stream) {
  return Fill("cuMemsetD2D32Async", Rows(address, pitch, value, 4, width, height), stream, true);
}

}  // extern "C"
