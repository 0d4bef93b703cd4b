// Tests how NCCL's communicators are created, split and destroyed. A rank must not wait forever for
// a rank that has ended.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "tests/libraries/nccl_fixture.h"

namespace vramstow {
namespace {

using NcclCommunicator = NcclTest;

ncclResult_t AwaitError(ncclComm_t comm, ncclResult_t until) {
  ncclResult_t result = ncclSuccess;
  for (int i = 0; i < 12'000; ++i) {
    EXPECT_EQ(ncclCommGetAsyncError(comm, &result), ncclSuccess);
    if (result == until) break;
    usleep(5000);
  }
  return result;
}

// The processes must be forked before either one uses the driver. So this test is the first one and
// does not use the fixture.
TEST(NcclProcesses, AKilledRankIsAnErrorOfTheOthersAndLeavesNothingBehind) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  pid_t ranks[2];
  for (int rank = 0; rank < 2; ++rank) {
    ranks[rank] = fork();
    ASSERT_GE(ranks[rank], 0);
    if (ranks[rank] != 0) continue;
    CUcontext context = nullptr;
    ncclComm_t comm = nullptr;
    CUdeviceptr memory = 0;
    alarm(120);
    if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, rank) != CUDA_SUCCESS ||
        cuCtxSetCurrent(context) != CUDA_SUCCESS || cuMemAlloc(&memory, 64) != CUDA_SUCCESS ||
        ncclCommInitRank(&comm, 2, id, rank) != ncclSuccess) {
      _exit(1);
    }
    if (rank == 1) raise(SIGKILL);
    auto* data = reinterpret_cast<float*>(memory);
    ncclAllReduce(data, data, 16, ncclFloat, ncclSum, comm, nullptr);
    cuStreamSynchronize(nullptr);
    const bool said = AwaitError(comm, ncclRemoteError) == ncclRemoteError;
    _exit(said && ncclCommAbort(comm) == ncclSuccess ? 0 : 2);
  }
  int status = -1;
  ASSERT_EQ(waitpid(ranks[1], &status, 0), ranks[1]);
  EXPECT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(waitpid(ranks[0], &status, 0), ranks[0]);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// Returns whether each of two processes that both use device 0 gets the result. Their group shares
// its GPUs, unless its name is "none".
bool BothOnOneDeviceGet(ncclResult_t expected, const std::string& group) {
  ncclUniqueId id;
  if (ncclGetUniqueId(&id) != ncclSuccess) return false;
  pid_t ranks[2];
  for (int rank = 0; rank < 2; ++rank) {
    ranks[rank] = fork();
    if (ranks[rank] != 0) continue;
    CUcontext context = nullptr;
    ncclComm_t comm = nullptr;
    alarm(120);
    setenv("VRAMSTOW_SIMULATE", ("h200,count=2,share=" + group).c_str(), 1);
    const bool ready = cuInit(0) == CUDA_SUCCESS &&
                       cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS &&
                       cuCtxSetCurrent(context) == CUDA_SUCCESS;
    _exit(ready && ncclCommInitRank(&comm, 2, id, rank) == expected ? 0 : 1);
  }
  bool both = true;
  for (const pid_t rank : ranks) {
    int status = -1;
    both = waitpid(rank, &status, 0) == rank && status == 0 && both;
  }
  return both;
}

// As with NCCL, one GPU of one machine is enough for one rank only. Processes that share no GPUs
// are on machines of their own, whose GPUs have the same numbers.
TEST(NcclProcesses, TwoRanksOnOneGpuAreRefusedIfTheyShareIt) {
  const std::string group = "nccl-" + std::to_string(getpid());
  EXPECT_TRUE(BothOnOneDeviceGet(ncclInvalidUsage, group));
  EXPECT_TRUE(BothOnOneDeviceGet(ncclSuccess, "none"));
  setenv("NCCL_HOSTID", "another", 1);
  EXPECT_TRUE(BothOnOneDeviceGet(ncclInvalidUsage, group));
  unsetenv("NCCL_HOSTID");
}

TEST_F(NcclCommunicator, KnowsItsRankAndDevice) {
  Connect();
  for (int rank = 0; rank < kRanks; ++rank) {
    int value = -1;
    EXPECT_EQ(ncclCommUserRank(comms_[rank], &value), ncclSuccess);
    EXPECT_EQ(value, rank);
    EXPECT_EQ(ncclCommCuDevice(comms_[rank], &value), ncclSuccess);
    EXPECT_EQ(value, rank);
    EXPECT_EQ(ncclCommCount(comms_[rank], &value), ncclSuccess);
    EXPECT_EQ(value, kRanks);
    EXPECT_EQ(AsyncError(rank), ncclSuccess);
  }
}

TEST_F(NcclCommunicator, AnInventedIdAndAWrongRankAreRefused) {
  ncclUniqueId invented = {};
  ncclUniqueId id;
  EXPECT_EQ(ncclGetUniqueId(nullptr), ncclInvalidArgument);
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  EXPECT_EQ(ncclCommInitRank(&comms_[0], 1, invented, 0), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRank(&comms_[0], 2, id, 2), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRank(nullptr, 1, id, 0), ncclInvalidArgument);
  EXPECT_EQ(comms_[0], nullptr);
}

TEST_F(NcclCommunicator, ItsBuffersAreDeviceMemoryThatCanBeSuspendedAndGoesAway) {
  cuCtxSetCurrent(contexts_[0]);
  size_t before = 0;
  size_t after = 0;
  size_t total = 0;
  cuMemGetInfo(&before, &total);
  setenv("NCCL_BUFFSIZE", "4194304", 1);
  Connect();
  cuCtxSetCurrent(contexts_[0]);
  cuMemGetInfo(&after, &total);
  EXPECT_GE(before - after, (size_t{16} << 22) + (size_t{388} << 20));
  for (ncclComm_t& comm : comms_) {
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
    comm = nullptr;
  }
  cuMemGetInfo(&after, &total);
  EXPECT_EQ(before, after);
}

TEST_F(NcclCommunicator, OneThatDoesNotBlockIsInProgressUntilAllHaveCome) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  cuCtxSetCurrent(contexts_[0]);
  EXPECT_EQ(ncclCommInitRankConfig(&comms_[0], kRanks, id, 0, &config), ncclInProgress);
  EXPECT_EQ(AsyncError(0), ncclInProgress);
  cuCtxSetCurrent(contexts_[1]);
  EXPECT_EQ(ncclCommInitRankConfig(&comms_[1], kRanks, id, 1, &config), ncclInProgress);
  EXPECT_EQ(AwaitError(comms_[0], ncclSuccess), ncclSuccess);
  EXPECT_EQ(AwaitError(comms_[1], ncclSuccess), ncclSuccess);
}

TEST_F(NcclCommunicator, AnAbortEndsAConnectionThatNobodyJoins) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ASSERT_EQ(ncclCommInitRankConfig(&comms_[0], kRanks, id, 0, &config), ncclInProgress);
  EXPECT_EQ(ncclCommAbort(comms_[0]), ncclSuccess);
  comms_[0] = nullptr;
}

TEST_F(NcclCommunicator, TwoRanksOnOneGpuAreRefused) {
  const int devices[] = {1, 1};
  EXPECT_EQ(ncclCommInitAll(comms_, kRanks, devices), ncclInvalidUsage);
  EXPECT_EQ(comms_[0], nullptr);
  EXPECT_EQ(comms_[1], nullptr);
  EXPECT_NE(std::string(ncclGetLastError(nullptr)).find("Duplicate GPU"), std::string::npos);
}

TEST_F(NcclCommunicator, TheSentenceOfOneThatCouldNotBeMadeIsTheProcesssLastError) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  cuCtxSetCurrent(contexts_[0]);
  setenv("VRAMSTOW_NCCL_TIMEOUT", "1", 1);
  EXPECT_NE(ncclCommInitRank(&comms_[0], kRanks, id, 0), ncclSuccess);
  unsetenv("VRAMSTOW_NCCL_TIMEOUT");
  EXPECT_EQ(comms_[0], nullptr);
  EXPECT_NE(std::string(ncclGetLastError(nullptr)), "");
}

TEST_F(NcclCommunicator, IsSplitByColorInTheOrderOfKeys) {
  Connect();
  ncclComm_t turned[kRanks] = {};
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(ncclCommSplit(comms_[rank], 4, -rank, &turned[rank], nullptr), ncclSuccess);
  }
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  ncclComm_t alone = nullptr;
  ncclComm_t none = nullptr;
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclCommSplit(comms_[0], 1, 0, &alone, nullptr), ncclSuccess);
  EXPECT_EQ(ncclCommSplit(comms_[1], NCCL_SPLIT_NOCOLOR, 0, &none, nullptr), ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(none, nullptr);
  int value = -1;
  EXPECT_EQ(ncclCommCount(alone, &value), ncclSuccess);
  EXPECT_EQ(value, 1);
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(ncclCommUserRank(turned[rank], &value), ncclSuccess);
    EXPECT_EQ(value, 1 - rank);
    EXPECT_EQ(ncclCommDestroy(turned[rank]), ncclSuccess);
  }
  EXPECT_EQ(ncclCommDestroy(alone), ncclSuccess);
}

TEST_F(NcclCommunicator, ShrinksWithoutTheRanksThatAreNamed) {
  Connect();
  int excluded[] = {0};
  ncclComm_t rest = nullptr;
  ASSERT_EQ(ncclCommShrink(comms_[1], excluded, 1, &rest, nullptr, 0), ncclSuccess);
  int value = -1;
  EXPECT_EQ(ncclCommCount(rest, &value), ncclSuccess);
  EXPECT_EQ(value, 1);
  EXPECT_EQ(ncclCommDestroy(rest), ncclSuccess);
}

TEST_F(NcclCommunicator, DifferentCallsOnDifferentRanksAreAnErrorOfBoth) {
  Connect();
  RankMemory<float> one(contexts_[0], {1, 1});
  RankMemory<float> other(contexts_[1], {2, 2});
  EXPECT_EQ(ncclAllReduce(one.data(), one.data(), 2, ncclFloat, ncclSum, comms_[0], streams_[0]),
            ncclSuccess);
  EXPECT_EQ(
      ncclAllReduce(other.data(), other.data(), 1, ncclFloat, ncclSum, comms_[1], streams_[1]),
      ncclSuccess);
  Wait();
  EXPECT_EQ(AsyncError(0), ncclInvalidUsage);
  EXPECT_EQ(AsyncError(1), ncclInvalidUsage);
  EXPECT_NE(std::string(ncclGetLastError(comms_[0])), "");
  EXPECT_EQ(ncclAllReduce(one.data(), one.data(), 2, ncclFloat, ncclSum, comms_[0], streams_[0]),
            ncclInvalidUsage);
}

TEST_F(NcclCommunicator, AnAbortEndsTheWaitForARankThatDoesNotCall) {
  Connect();
  RankMemory<float> one(contexts_[0], {1});
  ASSERT_EQ(ncclAllReduce(one.data(), one.data(), 1, ncclFloat, ncclSum, comms_[0], streams_[0]),
            ncclSuccess);
  usleep(20000);
  EXPECT_EQ(ncclCommAbort(comms_[0]), ncclSuccess);
  comms_[0] = nullptr;
  Wait();
}

TEST_F(NcclCommunicator, ARankThatLeavesIsNotWaitedForAndTheDataStayAsTheyAre) {
  Connect();
  RankMemory<float> one(contexts_[0], {1});
  RankMemory<float> other(contexts_[1], {2});
  const RankMemory<float>* memory[] = {&one, &other};
  Together([&](int rank) {
    return ncclAllReduce(memory[rank]->data(), memory[rank]->data(), 1, ncclFloat, ncclSum,
                         comms_[rank], streams_[rank]);
  });
  EXPECT_EQ(ncclCommDestroy(comms_[1]), ncclSuccess);
  comms_[1] = nullptr;
  RankMemory<float> sent(contexts_[0], {7});
  RankMemory<float> received(contexts_[0], {8});
  ASSERT_EQ(
      ncclAllReduce(sent.data(), received.data(), 1, ncclFloat, ncclSum, comms_[0], streams_[0]),
      ncclSuccess);
  Wait();
  EXPECT_EQ(AsyncError(0), ncclRemoteError);
  EXPECT_EQ(received.Read(), std::vector<float>{8});
}

TEST_F(NcclCommunicator, AMessageOfARankThatLeavesStaysAsItIs) {
  Connect();
  RankMemory<float> one(contexts_[0], {1});
  RankMemory<float> other(contexts_[1], {2});
  Together([&](int rank) {
    return rank == 0 ? ncclRecv(one.data(), 1, ncclFloat, 1, comms_[0], streams_[0])
                     : ncclSend(other.data(), 1, ncclFloat, 0, comms_[1], streams_[1]);
  });
  EXPECT_EQ(one.Read(), std::vector<float>{2});
  EXPECT_EQ(ncclCommDestroy(comms_[1]), ncclSuccess);
  comms_[1] = nullptr;
  RankMemory<float> received(contexts_[0], {8});
  ASSERT_EQ(ncclRecv(received.data(), 1, ncclFloat, 1, comms_[0], streams_[0]), ncclSuccess);
  Wait();
  EXPECT_EQ(AsyncError(0), ncclRemoteError);
  EXPECT_EQ(received.Read(), std::vector<float>{8});
}

}  // namespace
}  // namespace vramstow
