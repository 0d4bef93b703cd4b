// What libcuda.so.1 of the simulator exports beside the driver's own functions. Plain C.
//
// 1. Nothing here exists in a real driver: look it up with dlsym and do without if it is absent.
// 2. Registered kernels run when their turn comes on the virtual clock, one at a time, with the
//    driver's lock held: they must not call the driver, and may call
//    vramstowSimulatorTranslate.
// 3. Sizes are bytes, times are virtual nanoseconds.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_SIMULATOR_API_H_
#define VRAMSTOW_SIMULATOR_DRIVER_SIMULATOR_API_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Is `spec` right? 0: *text is one line about the card(s); otherwise one sentence about what is
// wrong. The SPEC "help" gives 0 and the list of cards and options.
int vramstowSimulatorCheck(const char* spec, char* text, size_t size);

// What is simulated in this process, for a trace. Never null.
const char* vramstowSimulatorDescription(void);

// One launch, as a registered kernel sees it.
struct vramstowSimulatorLaunch {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  int device;
  void** parameters;  // as many as were registered, each pointing at a copy of the argument
  size_t parameter_count;
  void* user;
};
typedef void (*vramstowSimulatorKernel)(const struct vramstowSimulatorLaunch* launch);

// From now on a kernel named `name` runs `function` and takes `duration_ns`. Parameter sizes say
// how much of each argument is copied at launch. A null function unregisters. 0: done.
int vramstowSimulatorRegisterKernel(const char* name, vramstowSimulatorKernel function,
                                    const size_t* parameter_sizes, size_t parameter_count,
                                    uint64_t duration_ns, void* user);

// Where the bytes of a device address lie in this process: null if [address, address + size) is no
// memory that a kernel may touch. `write` non-zero: they are going to be written.
void* vramstowSimulatorTranslate(uint64_t address, size_t size, int write);

// The virtual time of the host.
uint64_t vramstowSimulatorTime(void);

// What a monitor (NVML) may know of a device. It is there before cuInit and in a forked child:
// asking starts nothing and needs no context.
struct vramstowSimulatorDeviceReport {
  char name[96];
  char pci_bus_id[16];  // "0000:01:00.0"
  unsigned char uuid[16];
  unsigned pci_device_id;  // the device's number at its vendor
  int major;               // compute capability
  int minor;
  int multiprocessors;
  int clock_khz;
  int memory_clock_khz;
  int memory_bus_bits;
  int has_ecc;
  int has_nvlink;
  int has_context;  // of this process
  uint64_t total_bytes;
  uint64_t used_bytes;     // as cuMemGetInfo would have it: by all processes that share the card
  uint64_t process_bytes;  // of these, by this process
};

// How many devices the machine has, whatever the process sees of them; negative if the SPEC is
// wrong.
int vramstowSimulatorDeviceCount(void);

// Fills in `size` bytes of the report, so that the struct may grow at its end. 0: done.
int vramstowSimulatorReportDevice(int device, struct vramstowSimulatorDeviceReport* report,
                                  size_t size);

struct vramstowSimulatorProcess {
  uint64_t process;  // its id
  uint64_t bytes;    // of the device's memory
};

// The processes that hold memory of a device, at most `room` of them. Returns how many there are,
// negative if there is no such device.
int vramstowSimulatorListProcesses(int device, struct vramstowSimulatorProcess* processes,
                                   int room);

#ifdef __cplusplus
}
#endif

#endif  // VRAMSTOW_SIMULATOR_DRIVER_SIMULATOR_API_H_
