// NVTX loads the library that NVTX_INJECTION64_PATH names, which a profiler sets to CUPTI, and
// calls this function. The result 0 declines the injection.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx(void* /*table*/) {
  return 0;
}
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(void* /*table*/) {
  return 0;
}
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(
    void* /*module*/) {
  return 0;
}
