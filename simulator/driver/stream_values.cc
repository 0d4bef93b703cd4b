// Implements stream memory operations: a stream writes a value, or waits for one.
#include "simulator/driver/stream_values.h"

#include <algorithm>
#include <utility>

#include "simulator/driver/capture.h"
#include "simulator/driver/graph.h"
#include "simulator/driver/host_memory.h"
#include "simulator/driver/host_worker.h"
#include "simulator/driver/stream.h"

namespace vramstow::simulator {
namespace {

// True if the value in memory meets the condition (CUstreamWaitValue_flags).
bool Holds(const StreamValue& wished, uint64_t now) {
  const bool wide = wished.size == 8;
  const uint64_t wish = wide ? wished.value : static_cast<uint32_t>(wished.value);
  switch (wished.flags & ~static_cast<unsigned>(CU_STREAM_WAIT_VALUE_FLUSH)) {
    case CU_STREAM_WAIT_VALUE_EQ:
      return now == wish;
    case CU_STREAM_WAIT_VALUE_AND:
      return (now & wish) != 0;
    case CU_STREAM_WAIT_VALUE_NOR:
      return (~(now | wish) & (wide ? ~uint64_t{0} : 0xffffffffu)) != 0;
    default:  // GEQ is cyclic, as documented
      return wide ? static_cast<int64_t>(now - wish) >= 0
                  : static_cast<int32_t>(static_cast<uint32_t>(now - wish)) >= 0;
  }
}

// Executes operations one after the other. An operation that waits is asked until the memory holds
// the awaited value, which the host, another stream or another process may write.
class ValuesWork : public Work {
 public:
  ValuesWork(State* state, Context* context, std::vector<StreamValue> values)
      : state_(state), context_(context), values_(std::move(values)) {}

  bool OnHost() const override {
    return std::any_of(values_.begin(), values_.end(),
                       [](const StreamValue& value) { return !value.write; });
  }
  void Run(uint64_t /*time_ns*/) override {
    for (const StreamValue& value : values_) {
      if (context_->sticky == CUDA_SUCCESS) Write(value);
    }
  }
  Poll MakePoll() override {
    if (!OnHost()) return {};
    return [this, next = size_t{0}]() mutable {
      for (; next < values_.size() && !IsEnded(); ++next) {
        const StreamValue& value = values_[next];
        if (value.write) {
          Write(value);
        } else if (!IsOver(value)) {
          return false;
        }
      }
      return true;
    };
  }
  void AddUses(std::vector<vramstowSimulatorRange>* uses) const override {
    for (const StreamValue& value : values_) {
      const auto use = value.write ? kVramstowSimulatorFills : kVramstowSimulatorReads;
      uses->push_back({value.address, value.size, use});
    }
  }

 private:
  bool IsEnded() const {
    return Globals().shut_down || !context_->alive || context_->sticky != CUDA_SUCCESS;
  }
  // Must be called with the driver's lock held.
  bool Reaches(const StreamValue& value) {
    if (state_->machine->contents.Check(value.address, value.size, context_->device, value.write,
                                        true) == Result::kSuccess) {
      return true;
    }
    context_->sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
    return false;
  }
  void Write(const StreamValue& value) {
    if (!Reaches(value)) return;
    state_->machine->contents.Copy(value.address, reinterpret_cast<uintptr_t>(&value.value),
                                   value.size);
  }
  // True if the memory holds the awaited value, or can hold it no more.
  bool IsOver(const StreamValue& value) {
    if (!Reaches(value)) return true;
    uint64_t now = 0;
    state_->machine->contents.Copy(reinterpret_cast<uintptr_t>(&now), value.address, value.size);
    return Holds(value, now);
  }

  State* state_;
  Context* context_;
  std::vector<StreamValue> values_;
};

// True for device memory, or host memory that the device can use, aligned to the value's size.
bool IsUsable(Call& call, const Context& context, const StreamValue& value) {
  const Contents& contents = call.machine().contents;
  if (value.address == 0 || value.address % value.size != 0) return false;
  if (!contents.IsDevice(value.address) &&
      !IsPinned(call.machine().memory.FindAround(value.address))) {
    return false;
  }
  return contents.Check(value.address, value.size, context.device, value.write, true) ==
         Result::kSuccess;
}

CUresult CheckValue(Call& call, const Context& context, const StreamValue& value) {
  constexpr unsigned kWaitFlags = CU_STREAM_WAIT_VALUE_NOR | CU_STREAM_WAIT_VALUE_FLUSH;
  constexpr unsigned kWriteFlags = CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER;
  if ((value.flags & ~(value.write ? kWriteFlags : kWaitFlags)) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  // As documented, a flush of remote writes is refused if the device does not support it.
  if (!value.write && (value.flags & CU_STREAM_WAIT_VALUE_FLUSH) != 0) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return IsUsable(call, context, value) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Converts one operation of a batch. Returns false if its kind is unknown.
bool ReadOperation(const CUstreamBatchMemOpParams& given, StreamValue* value, bool* empty) {
  *empty = false;
  switch (given.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WAIT_VALUE_64: {
      const bool wide = given.operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
      *value = {given.waitValue.address, wide ? given.waitValue.value64 : given.waitValue.value,
                wide ? 8u : 4u, given.waitValue.flags, /*write=*/false};
      return true;
    }
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64: {
      const bool wide = given.operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
      *value = {given.writeValue.address, wide ? given.writeValue.value64 : given.writeValue.value,
                wide ? 8u : 4u, given.writeValue.flags, /*write=*/true};
      return true;
    }
    case CU_STREAM_MEM_OP_BARRIER:
      *empty = true;  // the operations of a stream are in order anyway
      return true;
    default:
      return false;
  }
}

// Submits each operation as work of its own, or, in a capture, all of them as one node of a graph.
CUresult SubmitBatch(Call& call, CUstream handle, const CUstreamBatchMemOpParams* operations,
                     unsigned count) {
  Stream* stream = FindStream(call, handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const bool captured = stream->capture != nullptr;
  const CUresult implicit = captured ? CUDA_SUCCESS : RefuseImplicit(call, stream);
  if (implicit != CUDA_SUCCESS) return implicit;
  ValuesNode node;
  const CUresult result = ReadOperations(call, *stream->context, operations, count, &node);
  if (result != CUDA_SUCCESS) return result;
  if (captured) return CaptureValues(call, stream, std::move(node));
  for (const StreamValue& value : node.values) {
    Submit(call, stream, MakeValuesWork(&call.state(), stream->context, {value}));
  }
  return CUDA_SUCCESS;
}

// Serves a batch of one operation, of 32 or 64 bits. Operations that write and operations that wait
// have the same description in different members of the union.
template <typename Value, typename Description>
CUresult ServeOne(const char* name, CUstream stream, CUstreamBatchMemOpType for_32_bits,
                  CUstreamBatchMemOpType for_64_bits,
                  Description CUstreamBatchMemOpParams::*description, CUdeviceptr address,
                  Value value, unsigned flags) {
  CUstreamBatchMemOpParams one = {};
  one.operation = sizeof(Value) == 8 ? for_64_bits : for_32_bits;
  (one.*description).address = address;
  (one.*description).value64 = value;
  (one.*description).flags = flags;
  return Serve(name, Needs::kContext,
               [&](Call& call) { return SubmitBatch(call, stream, &one, 1); });
}

template <typename Value>
CUresult WriteOne(const char* name, CUstream stream, CUdeviceptr address, Value value,
                  unsigned flags) {
  return ServeOne(name, stream, CU_STREAM_MEM_OP_WRITE_VALUE_32, CU_STREAM_MEM_OP_WRITE_VALUE_64,
                  &CUstreamBatchMemOpParams::writeValue, address, value, flags);
}

template <typename Value>
CUresult WaitForOne(const char* name, CUstream stream, CUdeviceptr address, Value value,
                    unsigned flags) {
  return ServeOne(name, stream, CU_STREAM_MEM_OP_WAIT_VALUE_32, CU_STREAM_MEM_OP_WAIT_VALUE_64,
                  &CUstreamBatchMemOpParams::waitValue, address, value, flags);
}

}  // namespace

CUresult ReadOperations(Call& call, const Context& context,
                        const CUstreamBatchMemOpParams* operations, unsigned count,
                        ValuesNode* node) {
  constexpr unsigned kMax = 256;
  if (operations == nullptr || count == 0 || count > kMax) return CUDA_ERROR_INVALID_VALUE;
  node->given.assign(operations, operations + count);
  for (const CUstreamBatchMemOpParams& one : node->given) {
    StreamValue value;
    bool empty = false;
    if (!ReadOperation(one, &value, &empty)) return CUDA_ERROR_NOT_SUPPORTED;
    if (empty) continue;
    const CUresult result = CheckValue(call, context, value);
    if (result != CUDA_SUCCESS) return result;
    node->values.push_back(value);
  }
  return CUDA_SUCCESS;
}

std::shared_ptr<Work> MakeValuesWork(State* state, Context* context,
                                     std::vector<StreamValue> values) {
  return std::make_shared<ValuesWork>(state, context, std::move(values));
}

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
  return WriteOne("cuStreamWriteValue32", stream, address, value, flags);
}

CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value,
                                 unsigned int flags) {
  return WriteOne("cuStreamWriteValue64", stream, address, value, flags);
}

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value,
                                unsigned int flags) {
  return WaitForOne("cuStreamWaitValue32", stream, address, value, flags);
}

CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value,
                                unsigned int flags) {
  return WaitForOne("cuStreamWaitValue64", stream, address, value, flags);
}

CUresult cuStreamBatchMemOp_v2(CUstream handle, unsigned int count,
                               CUstreamBatchMemOpParams* operations, unsigned int flags) {
  return Serve("cuStreamBatchMemOp", Needs::kContext, [&](Call& call) {
    return flags != 0 ? CUDA_ERROR_INVALID_VALUE : SubmitBatch(call, handle, operations, count);
  });
}

// Defines the first versions of these functions. They behave as the second versions do (with the
// suffix _v2).
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
