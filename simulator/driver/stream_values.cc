// Stream memory operations: a stream writes a value, or waits for one.
#include <cuda.h>

#include <chrono>
#include <thread>

#include "simulator/driver/capture.h"
#include "simulator/driver/host_memory.h"
#include "simulator/driver/host_worker.h"
#include "simulator/driver/stream.h"

namespace vramstow::simulator {
namespace {

struct Value {
  uint64_t address = 0;
  uint64_t value = 0;
  uint64_t size = 4;  // bytes: 4 or 8
  unsigned flags = 0;
};

class WriteValue : public Work {
 public:
  WriteValue(State* state, Context* context, const Value& value)
      : state_(state), context_(context), value_(value) {}
  void Run(uint64_t /*time_ns*/) override {
    if (context_->sticky != CUDA_SUCCESS) return;
    Contents& contents = state_->machine->contents;
    if (contents.Check(value_.address, value_.size, context_->device, true, true) !=
        Result::kSuccess) {
      context_->sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
      return;
    }
    contents.Copy(value_.address, reinterpret_cast<uintptr_t>(&value_.value), value_.size);
  }

 private:
  State* state_;
  Context* context_;
  Value value_;
};

// Looks at the memory until it holds what is waited for: the host, another stream or another
// process may write it.
class WaitValue : public Work {
 public:
  WaitValue(State* state, Context* context, const Value& value)
      : state_(state), context_(context), value_(value) {}
  bool OnHost() const override { return true; }
  void Run(uint64_t /*time_ns*/) override {
    constexpr auto kPause = std::chrono::microseconds(50);
    while (!IsOver()) std::this_thread::sleep_for(kPause);
  }

 private:
  bool IsOver() {
    DriverGlobals& globals = Globals();
    const MutexLock lock(&globals.mutex);
    if (globals.shut_down || !context_->alive || context_->sticky != CUDA_SUCCESS) return true;
    Contents& contents = state_->machine->contents;
    if (contents.Check(value_.address, value_.size, context_->device, false, true) !=
        Result::kSuccess) {
      context_->sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
      return true;
    }
    uint64_t now = 0;
    contents.Copy(reinterpret_cast<uintptr_t>(&now), value_.address, value_.size);
    return Holds(now);
  }

  // The conditions of CUstreamWaitValue_flags.
  bool Holds(uint64_t now) const {
    const bool wide = value_.size == 8;
    const uint64_t wish = wide ? value_.value : static_cast<uint32_t>(value_.value);
    switch (value_.flags & ~static_cast<unsigned>(CU_STREAM_WAIT_VALUE_FLUSH)) {
      case CU_STREAM_WAIT_VALUE_EQ:
        return now == wish;
      case CU_STREAM_WAIT_VALUE_AND:
        return (now & wish) != 0;
      case CU_STREAM_WAIT_VALUE_NOR:
        return (~(now | wish) & (wide ? ~uint64_t{0} : 0xffffffffu)) != 0;
      default:  // GEQ: cyclic, as documented
        return wide ? static_cast<int64_t>(now - wish) >= 0
                    : static_cast<int32_t>(static_cast<uint32_t>(now - wish)) >= 0;
    }
  }

  State* state_;
  Context* context_;
  Value value_;
};

// Device memory, or host memory that the device can use; aligned to its size.
bool IsUsable(Call& call, const Stream& stream, const Value& value, bool write) {
  const Contents& contents = call.machine().contents;
  if (value.address == 0 || value.address % value.size != 0) return false;
  if (!contents.IsDevice(value.address) &&
      !IsPinned(call.machine().memory.FindAround(value.address))) {
    return false;
  }
  return contents.Check(value.address, value.size, stream.context->device, write, true) ==
         Result::kSuccess;
}

CUresult CheckValue(Call& call, const Stream& stream, const Value& value, bool write) {
  constexpr unsigned kWaitFlags = CU_STREAM_WAIT_VALUE_NOR | CU_STREAM_WAIT_VALUE_FLUSH;
  constexpr unsigned kWriteFlags = CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER;
  if ((value.flags & ~(write ? kWriteFlags : kWaitFlags)) != 0) return CUDA_ERROR_INVALID_VALUE;
  // Documented: no flush of remote writes where the device cannot.
  if (!write && (value.flags & CU_STREAM_WAIT_VALUE_FLUSH) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  return IsUsable(call, stream, value, write) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

void SubmitValue(Call& call, Stream* stream, const Value& value, bool write) {
  State* state = &call.state();
  if (write) {
    Submit(call, stream, std::make_shared<WriteValue>(state, stream->context, value));
  } else {
    Submit(call, stream, std::make_shared<WaitValue>(state, stream->context, value));
  }
}

CUresult OneValue(const char* name, CUstream handle, const Value& value, bool write) {
  return Serve(name, Needs::kContext, [&](Call& call) -> CUresult {
    Stream* stream = FindStream(call, handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    // A capture would record a node that is not simulated.
    if (stream->capture != nullptr) return RefuseCapturing(call, stream);
    const CUresult implicit = RefuseImplicit(call, stream);
    if (implicit != CUDA_SUCCESS) return implicit;
    const CUresult result = CheckValue(call, *stream, value, write);
    if (result == CUDA_SUCCESS) SubmitValue(call, stream, value, write);
    return result;
  });
}

// One operation of a batch. False: it is none.
bool ReadOperation(const CUstreamBatchMemOpParams& given, Value* value, bool* write, bool* empty) {
  *empty = false;
  switch (given.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WAIT_VALUE_64: {
      const bool wide = given.operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
      *value = {given.waitValue.address, wide ? given.waitValue.value64 : given.waitValue.value,
                wide ? 8u : 4u, given.waitValue.flags};
      *write = false;
      return true;
    }
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64: {
      const bool wide = given.operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
      *value = {given.writeValue.address, wide ? given.writeValue.value64 : given.writeValue.value,
                wide ? 8u : 4u, given.writeValue.flags};
      *write = true;
      return true;
    }
    case CU_STREAM_MEM_OP_BARRIER:
      *empty = true;  // the operations of a stream are in order here anyway
      return true;
    default:
      return false;
  }
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

#undef cuStreamWriteValue32
#undef cuStreamWriteValue64
#undef cuStreamWaitValue32
#undef cuStreamWaitValue64
#undef cuStreamBatchMemOp

extern "C" {

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value,
                                 unsigned int flags) {
  return OneValue("cuStreamWriteValue32", stream, {address, value, 4, flags}, true);
}

CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value,
                                 unsigned int flags) {
  return OneValue("cuStreamWriteValue64", stream, {address, value, 8, flags}, true);
}

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value,
                                unsigned int flags) {
  return OneValue("cuStreamWaitValue32", stream, {address, value, 4, flags}, false);
}

CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value,
                                unsigned int flags) {
  return OneValue("cuStreamWaitValue64", stream, {address, value, 8, flags}, false);
}

CUresult cuStreamBatchMemOp_v2(CUstream handle, unsigned int count,
                               CUstreamBatchMemOpParams* operations, unsigned int flags) {
  return Serve("cuStreamBatchMemOp", Needs::kContext, [&](Call& call) -> CUresult {
    constexpr unsigned kMost = 256;
    Stream* stream = FindStream(call, handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (operations == nullptr || count == 0 || count > kMost || flags != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (stream->capture != nullptr) return RefuseCapturing(call, stream);
    const CUresult implicit = RefuseImplicit(call, stream);
    if (implicit != CUDA_SUCCESS) return implicit;
    // All are checked before the first is submitted.
    for (const bool submit : {false, true}) {
      for (unsigned i = 0; i < count; ++i) {
        Value value;
        bool write = false;
        bool empty = false;
        if (!ReadOperation(operations[i], &value, &write, &empty)) return CUDA_ERROR_NOT_SUPPORTED;
        if (empty) continue;
        const CUresult result = CheckValue(call, *stream, value, write);
        if (result != CUDA_SUCCESS) return result;
        if (submit) SubmitValue(call, stream, value, write);
      }
    }
    return CUDA_SUCCESS;
  });
}

// The first forms behave as the second here.
CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value,
                              unsigned int flags) {
  return cuStreamWriteValue32_v2(stream, address, value, flags);
}
CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address, cuuint64_t value,
                              unsigned int flags) {
  return cuStreamWriteValue64_v2(stream, address, value, flags);
}
CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value,
                             unsigned int flags) {
  return cuStreamWaitValue32_v2(stream, address, value, flags);
}
CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address, cuuint64_t value,
                             unsigned int flags) {
  return cuStreamWaitValue64_v2(stream, address, value, flags);
}
CUresult cuStreamBatchMemOp(CUstream stream, unsigned int count,
                            CUstreamBatchMemOpParams* operations, unsigned int flags) {
  return cuStreamBatchMemOp_v2(stream, count, operations, flags);
}

}  // extern "C"
