// NVTX asks the library that NVTX_INJECTION64_PATH names, which a profiler makes CUPTI, whether it
// wants to be called: 0 is no.
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
