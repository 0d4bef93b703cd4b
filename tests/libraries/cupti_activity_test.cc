// Tests the behaviour that CUPTI's documentation specifies for records, on the simulated driver and
// runtime.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace vramstow {
namespace {

constexpr char kModule[] =
    ".version 6.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry first_kernel()\n{\n  ret;\n}\n"
    ".visible .entry second_kernel()\n{\n  ret;\n}\n";

constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                         CUPTI_ACTIVITY_KIND_MEMCPY,
                                         CUPTI_ACTIVITY_KIND_MEMCPY2,
                                         CUPTI_ACTIVITY_KIND_MEMSET,
                                         CUPTI_ACTIVITY_KIND_DRIVER,
                                         CUPTI_ACTIVITY_KIND_RUNTIME,
                                         CUPTI_ACTIVITY_KIND_MEMORY2,
                                         CUPTI_ACTIVITY_KIND_MEMORY_POOL,
                                         CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                                         CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                         CUPTI_ACTIVITY_KIND_CUDA_EVENT,
                                         CUPTI_ACTIVITY_KIND_OVERHEAD};

// A copy of a record, with room for the longest one.
struct Record {
  alignas(8) char bytes[256] = {};
  CUpti_ActivityKind kind() const { return reinterpret_cast<const CUpti_Activity*>(bytes)->kind; }
  template <typename As>
  const As& as() const {
    return *reinterpret_cast<const As*>(bytes);
  }
};

struct Client {
  std::vector<Record> records;
  size_t buffer_bytes = 64 << 10;
  size_t most_records = 0;
  int requested = 0;
  int completed = 0;
};
Client client;

void Request(uint8_t** buffer, size_t* size, size_t* records) {
  ++client.requested;
  *size = client.buffer_bytes;
  *buffer = static_cast<uint8_t*>(aligned_alloc(8, *size));
  *records = client.most_records;
}

void Complete(CUcontext, uint32_t, uint8_t* buffer, size_t size, size_t valid) {
  ++client.completed;
  EXPECT_LE(valid, size);
  CUpti_Activity* record = nullptr;
  CUptiResult result = CUPTI_SUCCESS;
  while ((result = cuptiActivityGetNextRecord(buffer, valid, &record)) == CUPTI_SUCCESS) {
    const auto rest = static_cast<size_t>(buffer + valid - reinterpret_cast<uint8_t*>(record));
    Record copy;
    std::copy_n(reinterpret_cast<char*>(record), std::min(rest, sizeof(copy.bytes)), copy.bytes);
    client.records.push_back(copy);
  }
  EXPECT_EQ(result, CUPTI_ERROR_MAX_LIMIT_REACHED);
  free(buffer);
}

class CuptiActivity : public testing::Test {
 protected:
  void SetUp() override {
    client = {};
    ASSERT_EQ(cudaFree(nullptr), cudaSuccess);
    ASSERT_EQ(cuptiActivityRegisterCallbacks(Request, Complete), CUPTI_SUCCESS);
    if (module_ == nullptr) {
      ASSERT_EQ(cuModuleLoadData(&module_, kModule), CUDA_SUCCESS);
    }
    ASSERT_EQ(cuModuleGetFunction(&first_, module_, "first_kernel"), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleGetFunction(&second_, module_, "second_kernel"), CUDA_SUCCESS);
  }
  void TearDown() override {
    for (const CUpti_ActivityKind kind : kKinds) cuptiActivityDisable(kind);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
  }

  static void Enable(std::initializer_list<CUpti_ActivityKind> kinds) {
    for (const CUpti_ActivityKind kind : kinds) {
      ASSERT_EQ(cuptiActivityEnable(kind), CUPTI_SUCCESS);
    }
  }
  static void Launch(CUfunction function, CUstream stream = nullptr) {
    ASSERT_EQ(cuLaunchKernel(function, 3, 2, 1, 64, 1, 1, 128, stream, nullptr, nullptr),
              CUDA_SUCCESS);
  }
  static void Flush() {
    ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
  }
  template <typename As>
  static std::vector<As> Of(CUpti_ActivityKind kind) {
    std::vector<As> found;
    for (const Record& record : client.records) {
      if (record.kind() == kind) found.push_back(record.as<As>());
    }
    return found;
  }

  static inline CUmodule module_ = nullptr;
  CUfunction first_ = nullptr;
  CUfunction second_ = nullptr;
};

TEST_F(CuptiActivity, AKernelHasItsNameShapeAndTimes) {
  Enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
  Launch(first_);
  Launch(second_);
  Flush();
  const auto kernels = Of<CUpti_ActivityKernel9>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].name, std::string("first_kernel"));
  EXPECT_EQ(kernels[1].name, std::string("second_kernel"));
  EXPECT_EQ(kernels[0].gridX, 3);
  EXPECT_EQ(kernels[0].gridY, 2);
  EXPECT_EQ(kernels[0].blockX, 64);
  EXPECT_EQ(kernels[0].dynamicSharedMemory, 128);
  // The duration of a kernel is the option kernel-time of the SPEC, measured by the device's clock.
  // Kernels of one stream run one after the other.
  EXPECT_EQ(kernels[0].end - kernels[0].start, 20'000u);
  EXPECT_GE(kernels[1].start, kernels[0].end);
  EXPECT_EQ(kernels[0].streamId, kernels[1].streamId);
  EXPECT_NE(kernels[0].correlationId, kernels[1].correlationId);
}

TEST_F(CuptiActivity, ACallAndItsKernelShareACorrelationIdAndItsTimesAreAround) {
  Enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_DRIVER});
  uint64_t before = 0;
  uint64_t after = 0;
  ASSERT_EQ(cuptiGetTimestamp(&before), CUPTI_SUCCESS);
  Launch(first_);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  ASSERT_EQ(cuptiGetTimestamp(&after), CUPTI_SUCCESS);
  Flush();
  const auto kernels = Of<CUpti_ActivityKernel9>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  auto calls = Of<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_DRIVER);
  std::erase_if(
      calls, [](const auto& call) { return call.cbid != CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel; });
  ASSERT_EQ(kernels.size(), 1u);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].correlationId, kernels[0].correlationId);
  EXPECT_EQ(calls[0].returnValue, 0u);
  EXPECT_EQ(calls[0].processId, static_cast<uint32_t>(getpid()));
  EXPECT_EQ(calls[0].threadId, static_cast<uint32_t>(pthread_self()));
  EXPECT_LE(before, calls[0].start);
  EXPECT_LE(calls[0].start, calls[0].end);
  EXPECT_LE(calls[0].start, kernels[0].start) << "work is not before the call that queued it";
  // The program waited for the kernel before it read `after`, so the kernel must end before
  // `after`. The test allows 50 µs more, because a sleep is not more precise.
  EXPECT_LE(kernels[0].end, after + 50'000);
}

TEST_F(CuptiActivity, TheRuntimesCallHidesTheDriversBeneathIt) {
  Enable({CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_MEMORY2});
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 4096), cudaSuccess);
  ASSERT_EQ(cudaFree(memory), cudaSuccess);
  for (const CUpti_ActivityKind kind : kKinds) cuptiActivityDisable(kind);
  Flush();
  const auto runtime = Of<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_RUNTIME);
  ASSERT_EQ(runtime.size(), 2u);
  EXPECT_EQ(runtime[0].cbid, unsigned{CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020});
  EXPECT_EQ(runtime[1].cbid, unsigned{CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020});
  EXPECT_TRUE(Of<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_DRIVER).empty());
  const auto memories = Of<CUpti_ActivityMemory4>(CUPTI_ACTIVITY_KIND_MEMORY2);
  ASSERT_EQ(memories.size(), 2u);
  EXPECT_EQ(memories[0].memoryOperationType, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION);
  EXPECT_EQ(memories[1].memoryOperationType, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(memories[i].address, reinterpret_cast<uintptr_t>(memory));
    EXPECT_EQ(memories[i].bytes, 4096u);
    EXPECT_EQ(memories[i].memoryKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
    EXPECT_EQ(memories[i].correlationId, runtime[i].correlationId);
  }
}

TEST_F(CuptiActivity, CopiesAndFillsSayFromWhereToWhereAndHowMuch) {
  Enable({CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET});
  std::vector<char> pageable(3000);
  void* pinned = nullptr;
  void* device = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, 2000), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&device, 8192), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(device, pageable.data(), 3000, cudaMemcpyHostToDevice), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(pinned, device, 2000, cudaMemcpyDeviceToHost, nullptr), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(device, 7, 5000, nullptr), cudaSuccess);
  Flush();
  const auto copies = Of<CUpti_ActivityMemcpy5>(CUPTI_ACTIVITY_KIND_MEMCPY);
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_EQ(copies[0].copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
  EXPECT_EQ(copies[0].srcKind, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE);
  EXPECT_EQ(copies[0].dstKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
  EXPECT_EQ(copies[0].bytes, 3000u);
  EXPECT_EQ(copies[0].flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC, 0);
  EXPECT_EQ(copies[1].copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
  EXPECT_EQ(copies[1].dstKind, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
  EXPECT_EQ(copies[1].bytes, 2000u);
  EXPECT_NE(copies[1].flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC, 0);
  const auto fills = Of<CUpti_ActivityMemset4>(CUPTI_ACTIVITY_KIND_MEMSET);
  ASSERT_EQ(fills.size(), 1u);
  EXPECT_EQ(fills[0].bytes, 5000u);
  EXPECT_EQ(fills[0].value, 7u);
  EXPECT_EQ(fills[0].memoryKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
  EXPECT_EQ(cudaFree(device), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
}

TEST_F(CuptiActivity, ACopyBetweenDevicesIsAMemcpy2) {
  Enable({CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2});
  void* here = nullptr;
  void* there = nullptr;
  ASSERT_EQ(cudaMalloc(&here, 4096), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&there, 4096), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  ASSERT_EQ(cudaMemcpyPeer(there, 1, here, 0, 1000), cudaSuccess);
  Flush();
  EXPECT_TRUE(Of<CUpti_ActivityMemcpy5>(CUPTI_ACTIVITY_KIND_MEMCPY).empty());
  const auto copies = Of<CUpti_ActivityMemcpyPtoP4>(CUPTI_ACTIVITY_KIND_MEMCPY2);
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
  EXPECT_EQ(copies[0].srcDeviceId, 0u);
  EXPECT_EQ(copies[0].dstDeviceId, 1u);
  EXPECT_EQ(copies[0].bytes, 1000u);
  EXPECT_EQ(cudaFree(here), cudaSuccess);
  EXPECT_EQ(cudaFree(there), cudaSuccess);
}

TEST_F(CuptiActivity, KindsOfMemoryAndPoolsAreTold) {
  Enable({CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_MEMORY_POOL});
  CUdeviceptr managed = 0;
  CUdeviceptr ordered = 0;
  void* pinned = nullptr;
  CUmemPoolProps properties = {};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
  CUmemoryPool pool = nullptr;
  ASSERT_EQ(cuMemAllocManaged(&managed, 1 << 20, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  ASSERT_EQ(cuMemHostAlloc(&pinned, 4096, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemPoolCreate(&pool, &properties), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAllocFromPoolAsync(&ordered, 5000, pool, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuMemFreeAsync(ordered, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuMemPoolTrimTo(pool, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemPoolDestroy(pool), CUDA_SUCCESS);
  ASSERT_EQ(cuMemFree(managed), CUDA_SUCCESS);
  ASSERT_EQ(cuMemFreeHost(pinned), CUDA_SUCCESS);
  Flush();
  const auto memories = Of<CUpti_ActivityMemory4>(CUPTI_ACTIVITY_KIND_MEMORY2);
  ASSERT_EQ(memories.size(), 6u);
  const CUpti_ActivityMemoryKind kinds[] = {
      CUPTI_ACTIVITY_MEMORY_KIND_MANAGED, CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
      CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,  CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
      CUPTI_ACTIVITY_MEMORY_KIND_MANAGED, CUPTI_ACTIVITY_MEMORY_KIND_PINNED};
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(memories[i].memoryKind, kinds[i]) << i;
  EXPECT_EQ(memories[2].isAsync, 1u);
  EXPECT_EQ(memories[2].memoryPoolConfig.address, reinterpret_cast<uintptr_t>(pool));
  EXPECT_GE(memories[2].memoryPoolConfig.utilizedSize, 5000u);
  const auto pools = Of<CUpti_ActivityMemoryPool2>(CUPTI_ACTIVITY_KIND_MEMORY_POOL);
  ASSERT_EQ(pools.size(), 3u);
  EXPECT_EQ(pools[0].memoryPoolOperationType, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED);
  EXPECT_EQ(pools[1].memoryPoolOperationType, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED);
  EXPECT_EQ(pools[2].memoryPoolOperationType, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED);
  EXPECT_EQ(pools[0].address, reinterpret_cast<uintptr_t>(pool));
}

TEST_F(CuptiActivity, SynchronisationNamesItsStreamAndItsEventsRecord) {
  Enable({CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_CUDA_EVENT});
  CUstream stream = nullptr;
  CUevent event = nullptr;
  ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(cuEventCreate(&event, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  ASSERT_EQ(cuEventRecord(event, stream), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamWaitEvent(nullptr, event, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuEventSynchronize(event), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
  Flush();
  uint32_t id = 0;
  ASSERT_EQ(cuptiGetStreamIdEx(nullptr, stream, 0, &id), CUPTI_SUCCESS);
  const auto waits = Of<CUpti_ActivitySynchronization2>(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
  const auto events = Of<CUpti_ActivityCudaEvent2>(CUPTI_ACTIVITY_KIND_CUDA_EVENT);
  ASSERT_EQ(waits.size(), 4u);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].streamId, id);
  EXPECT_EQ(waits[0].type, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT);
  EXPECT_EQ(waits[0].cudaEventId, events[0].eventId);
  EXPECT_EQ(waits[0].cudaEventSyncId, events[0].cudaEventSyncId);
  EXPECT_EQ(waits[1].type, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE);
  EXPECT_EQ(waits[1].cudaEventId, events[0].eventId);
  EXPECT_EQ(waits[2].type, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE);
  EXPECT_EQ(waits[2].streamId, id);
  EXPECT_EQ(waits[3].type, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE);
  EXPECT_EQ(waits[3].streamId, CUPTI_SYNCHRONIZATION_INVALID_VALUE);
  EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
}

TEST_F(CuptiActivity, ExternalIdsComeBeforeTheCallAndOnlyTheInnermost) {
  Enable({CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION});
  const auto kind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1;
  ASSERT_EQ(cuptiActivityPushExternalCorrelationId(kind, 41), CUPTI_SUCCESS);
  ASSERT_EQ(cuptiActivityPushExternalCorrelationId(kind, 42), CUPTI_SUCCESS);
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  ASSERT_EQ(cuptiActivityPopExternalCorrelationId(kind, nullptr), CUPTI_SUCCESS);
  ASSERT_EQ(cuptiActivityPopExternalCorrelationId(kind, nullptr), CUPTI_SUCCESS);
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  for (const CUpti_ActivityKind each : kKinds) cuptiActivityDisable(each);
  Flush();
  ASSERT_EQ(client.records.size(), 3u);
  const auto& external = client.records[0].as<CUpti_ActivityExternalCorrelation>();
  EXPECT_EQ(external.kind, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
  EXPECT_EQ(external.externalKind, kind);
  EXPECT_EQ(external.externalId, 42u);
  EXPECT_EQ(external.correlationId, client.records[1].as<CUpti_ActivityAPI>().correlationId);
}

TEST_F(CuptiActivity, ACallThatIsSwitchedOffIsNotRecorded) {
  Enable({CUPTI_ACTIVITY_KIND_RUNTIME});
  const auto query = CUPTI_RUNTIME_TRACE_CBID_cudaStreamQuery_v3020;
  ASSERT_EQ(cuptiActivityEnableRuntimeApi(query, 0), CUPTI_SUCCESS);
  EXPECT_EQ(cuptiActivityEnableRuntimeApi(4000, 0), CUPTI_ERROR_INVALID_PARAMETER);
  (void)cudaStreamQuery(nullptr);
  ASSERT_EQ(cuptiActivityEnableRuntimeApi(query, 1), CUPTI_SUCCESS);
  (void)cudaStreamQuery(nullptr);
  for (const CUpti_ActivityKind each : kKinds) cuptiActivityDisable(each);
  Flush();
  EXPECT_EQ(Of<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_RUNTIME).size(), 1u);
}

TEST_F(CuptiActivity, AFullBufferIsGivenBackAndTheNextAskedFor) {
  client.most_records = 2;
  Enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
  for (int i = 0; i < 5; ++i) Launch(first_);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(client.completed, 2);
  EXPECT_EQ(client.records.size(), 4u);
  Flush();
  EXPECT_EQ(client.records.size(), 5u);
  EXPECT_EQ(client.requested, client.completed);
}

TEST_F(CuptiActivity, ABufferThatHoldsNoRecordDropsAndCounts) {
  client.buffer_bytes = 64;
  Enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
  for (int i = 0; i < 3; ++i) Launch(first_);
  Flush();
  EXPECT_TRUE(client.records.empty());
  size_t dropped = 0;
  EXPECT_EQ(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped), CUPTI_SUCCESS);
  EXPECT_EQ(dropped, 3u);
}

TEST_F(CuptiActivity, AGraphsKernelsNameTheGraphAndTheLaunch) {
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  Launch(first_, stream);
  Launch(second_, stream);
  ASSERT_EQ(cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphInstantiateWithFlags(&executable, graph, 0), CUDA_SUCCESS);
  Enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_DRIVER});
  ASSERT_EQ(cuGraphLaunch(executable, stream), CUDA_SUCCESS);
  Flush();
  const auto kernels = Of<CUpti_ActivityKernel9>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  const auto calls = Of<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_DRIVER);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[1].name, std::string("second_kernel"));
  EXPECT_NE(kernels[0].graphId, 0u);
  EXPECT_EQ(kernels[0].graphId, kernels[1].graphId);
  EXPECT_NE(kernels[0].graphNodeId, kernels[1].graphNodeId);
  ASSERT_FALSE(calls.empty());
  EXPECT_EQ(kernels[0].correlationId, calls[0].correlationId);
  EXPECT_EQ(kernels[1].correlationId, calls[0].correlationId);
  EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
}

TEST_F(CuptiActivity, ThreadsGetTheirOwnIdsAndNothingIsLost) {
  Enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_DRIVER});
  CUcontext context = nullptr;
  ASSERT_EQ(cuCtxGetCurrent(&context), CUDA_SUCCESS);
  constexpr int kThreads = 4;
  constexpr int kLaunches = 200;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
      for (int launch = 0; launch < kLaunches; ++launch) Launch(first_, CU_STREAM_PER_THREAD);
    });
  }
  for (std::thread& thread : threads) thread.join();
  Flush();
  const auto kernels = Of<CUpti_ActivityKernel9>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  EXPECT_EQ(kernels.size(), size_t{kThreads * kLaunches});
  std::vector<uint32_t> ids;
  for (const auto& kernel : kernels) ids.push_back(kernel.correlationId);
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end()) << "ids are unique";
}

TEST_F(CuptiActivity, AClientsClockIsUsedThroughout) {
  // The client's clock runs at half the speed and has another zero than the host's clock.
  static uint64_t zero;
  ASSERT_EQ(cuptiGetTimestamp(&zero), CUPTI_SUCCESS);
  const auto now = [] {
    timespec time = {};
    clock_gettime(CLOCK_REALTIME, &time);
    return (static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 +
            static_cast<uint64_t>(time.tv_nsec) - zero) /
           2;
  };
  ASSERT_EQ(cuptiActivityRegisterTimestampCallback(now), CUPTI_SUCCESS);
  Enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_DRIVER});
  Launch(first_);
  Flush();
  const auto kernels = Of<CUpti_ActivityKernel9>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  const auto calls = Of<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_DRIVER);
  ASSERT_EQ(kernels.size(), 1u);
  ASSERT_FALSE(calls.empty());
  EXPECT_NEAR(static_cast<double>(kernels[0].end - kernels[0].start), 10'000, 200);
  EXPECT_LT(calls[0].start, zero / 2) << "not nanoseconds since 1970";
  EXPECT_LT(calls[0].start, kernels[0].end);
}

TEST_F(CuptiActivity, AKindThatIsNotMadeIsRefusedAndNamedOnce) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_PC_SAMPLING), CUPTI_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_PC_SAMPLING), CUPTI_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "vramstow simulator: records of activity kind 30 are not part of the simulated CUPTI; "
            "it returned CUPTI_ERROR_NOT_SUPPORTED.\n");
}

}  // namespace
}  // namespace vramstow
