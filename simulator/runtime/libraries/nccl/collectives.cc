// Implements NCCL's operations: checks their arguments and queues them (group.h).
#include <algorithm>

#include "simulator/runtime/libraries/nccl/group.h"
#include "simulator/runtime/libraries/nccl/reduction.h"

namespace vramstow::simulator {
namespace {

CUdeviceptr Address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

bool IsReductionOf(const ncclComm& comm, ncclRedOp_t reduction, ncclDataType_t type) {
  if (reduction >= ncclSum && reduction < ncclNumOps) return true;
  const auto index = static_cast<size_t>(reduction - ncclNumOps);
  return reduction >= ncclNumOps && index < comm.operations.size() &&
         comm.operations[index].alive && comm.operations[index].type == type;
}

ncclResult_t Check(const Operation& operation) {
  const ncclComm* comm = operation.comm;
  if (!IsCommunicator(comm)) return ncclInvalidArgument;
  const int result = comm->result;
  if (result == ncclInProgress) return ncclInvalidUsage;
  if (result != ncclSuccess) return static_cast<ncclResult_t>(result);
  if (IsInterrupted(comm)) return ncclInvalidUsage;
  if (BytesOf(operation.type) == 0 || operation.root < 0 || operation.root >= comm->ranks ||
      !IsReductionOf(*comm, operation.reduction, operation.type)) {
    return ncclInvalidArgument;
  }
  Parts parts = PartsOf(operation);
  if (operation.kind == Kind::kSend) parts.in = 1;
  if (operation.kind == Kind::kReceive) parts.out = 1;
  const bool missing =
      (parts.in > 0 && operation.send == 0) || (parts.out > 0 && operation.receive == 0);
  return operation.count > 0 && missing ? ncclInvalidArgument : ncclSuccess;
}

ncclResult_t Call(const Operation& operation) {
  const ncclResult_t checked = Check(operation);
  if (checked != ncclSuccess) return Refused(checked);
  return operation.count == 0 ? ncclSuccess : Submit(operation);
}

Operation Of(Kind kind, const void* send, void* receive, size_t count, ncclDataType_t type,
             ncclComm_t comm, cudaStream_t stream) {
  Operation operation;
  operation.kind = kind;
  operation.comm = comm;
  operation.stream = stream;
  operation.send = Address(send);
  operation.receive = Address(receive);
  operation.count = count;
  operation.type = type;
  return operation;
}

Operation WithRoot(Operation operation, int root) {
  operation.root = root;
  return operation;
}

Operation WithReduction(Operation operation, ncclRedOp_t reduction) {
  operation.reduction = reduction;
  return operation;
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

VRAMSTOW_NCCL_BOTH(ncclResult_t, AllReduce,
                   (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                    ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream),
                   (sendbuff, recvbuff, count, datatype, op, comm, stream)) {
  return Call(
      WithReduction(Of(Kind::kAllReduce, sendbuff, recvbuff, count, datatype, comm, stream), op));
}

VRAMSTOW_NCCL_BOTH(ncclResult_t, Reduce,
                   (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                    ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream),
                   (sendbuff, recvbuff, count, datatype, op, root, comm, stream)) {
  const Operation plain = Of(Kind::kReduce, sendbuff, recvbuff, count, datatype, comm, stream);
  return Call(WithRoot(WithReduction(plain, op), root));
}

VRAMSTOW_NCCL_BOTH(ncclResult_t, Broadcast,
                   (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                    int root, ncclComm_t comm, cudaStream_t stream),
                   (sendbuff, recvbuff, count, datatype, root, comm, stream)) {
  return Call(
      WithRoot(Of(Kind::kBroadcast, sendbuff, recvbuff, count, datatype, comm, stream), root));
}

VRAMSTOW_NCCL_BOTH(ncclResult_t, Bcast,
                   (void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                    cudaStream_t stream),
                   (buff, count, datatype, root, comm, stream)) {
  return ncclBroadcast(buff, buff, count, datatype, root, comm, stream);
}

VRAMSTOW_NCCL_BOTH(ncclResult_t, AllGather,
                   (const void* sendbuff, void* recvbuff, size_t sendcount, ncclDataType_t datatype,
                    ncclComm_t comm, cudaStream_t stream),
                   (sendbuff, recvbuff, sendcount, datatype, comm, stream)) {
  return Call(Of(Kind::kAllGather, sendbuff, recvbuff, sendcount, datatype, comm, stream));
}

VRAMSTOW_NCCL_BOTH(ncclResult_t, ReduceScatter,
                   (const void* sendbuff, void* recvbuff, size_t recvcount, ncclDataType_t datatype,
                    ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream),
                   (sendbuff, recvbuff, recvcount, datatype, op, comm, stream)) {
  return Call(WithReduction(
      Of(Kind::kReduceScatter, sendbuff, recvbuff, recvcount, datatype, comm, stream), op));
}

VRAMSTOW_NCCL_BOTH(ncclResult_t, AlltoAll,
                   (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                    ncclComm_t comm, cudaStream_t stream),
                   (sendbuff, recvbuff, count, datatype, comm, stream)) {
  return Call(Of(Kind::kAllToAll, sendbuff, recvbuff, count, datatype, comm, stream));
}

VRAMSTOW_NCCL_BOTH(ncclResult_t, Gather,
                   (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                    int root, ncclComm_t comm, cudaStream_t stream),
                   (sendbuff, recvbuff, count, datatype, root, comm, stream)) {
  return Call(WithRoot(Of(Kind::kGather, sendbuff, recvbuff, count, datatype, comm, stream), root));
}

VRAMSTOW_NCCL_BOTH(ncclResult_t, Scatter,
                   (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                    int root, ncclComm_t comm, cudaStream_t stream),
                   (sendbuff, recvbuff, count, datatype, root, comm, stream)) {
  return Call(
      WithRoot(Of(Kind::kScatter, sendbuff, recvbuff, count, datatype, comm, stream), root));
}

VRAMSTOW_NCCL_BOTH(ncclResult_t, Send,
                   (const void* sendbuff, size_t count, ncclDataType_t datatype, int peer,
                    ncclComm_t comm, cudaStream_t stream),
                   (sendbuff, count, datatype, peer, comm, stream)) {
  return Call(WithRoot(Of(Kind::kSend, sendbuff, nullptr, count, datatype, comm, stream), peer));
}

VRAMSTOW_NCCL_BOTH(ncclResult_t, Recv,
                   (void* recvbuff, size_t count, ncclDataType_t datatype, int peer,
                    ncclComm_t comm, cudaStream_t stream),
                   (recvbuff, count, datatype, peer, comm, stream)) {
  return Call(WithRoot(Of(Kind::kReceive, nullptr, recvbuff, count, datatype, comm, stream), peer));
}

VRAMSTOW_NCCL_BOTH(ncclResult_t, GroupStart, (), ()) {
  StartGroup();
  return ncclSuccess;
}

VRAMSTOW_NCCL_BOTH(ncclResult_t, GroupEnd, (), ()) { return EndGroup(); }

// The duration of operations on a GPU is not simulated, so the group is closed and nothing is done.
VRAMSTOW_NCCL_BOTH(ncclResult_t, GroupSimulateEnd, (ncclSimInfo_t * simInfo), (simInfo)) {
  if (simInfo != nullptr) simInfo->estimatedTime = NCCL_UNDEF_FLOAT;
  return DropGroup();
}

VRAMSTOW_NCCL_BOTH(ncclResult_t, RedOpCreatePreMulSum,
                   (ncclRedOp_t * op, void* scalar, ncclDataType_t datatype,
                    ncclScalarResidence_t residence, ncclComm_t comm),
                   (op, scalar, datatype, residence, comm)) {
  const size_t bytes = BytesOf(datatype);
  if (!IsCommunicator(comm) || op == nullptr || scalar == nullptr || bytes == 0) {
    return ncclInvalidArgument;
  }
  PreMultiplication made;
  made.alive = true;
  made.type = datatype;
  made.on_device = residence == ncclScalarDevice;
  if (made.on_device) {
    made.device_scalar = Address(scalar);
  } else {
    std::copy_n(static_cast<const unsigned char*>(scalar), bytes, made.scalar);
  }
  const auto free = std::find_if(comm->operations.begin(), comm->operations.end(),
                                 [](const PreMultiplication& known) { return !known.alive; });
  const auto index = free - comm->operations.begin();
  if (free == comm->operations.end()) {
    comm->operations.push_back(made);
  } else {
    *free = made;
  }
  *op = static_cast<ncclRedOp_t>(ncclNumOps + index);
  return ncclSuccess;
}

// An operation that was called with this reduction has copied the data that it needs.
VRAMSTOW_NCCL_BOTH(ncclResult_t, RedOpDestroy, (ncclRedOp_t op, ncclComm_t comm), (op, comm)) {
  if (!IsCommunicator(comm) || op < ncclNumOps ||
      static_cast<size_t>(op - ncclNumOps) >= comm->operations.size()) {
    return ncclInvalidArgument;
  }
  comm->operations[static_cast<size_t>(op - ncclNumOps)].alive = false;
  return ncclSuccess;
}
