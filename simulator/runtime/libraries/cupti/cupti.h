// NVIDIA's cupti.h for the files that define its functions: everything it declares is exported.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_CUPTI_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_CUPTI_H_

#pragma GCC visibility push(default)
#include <cupti.h>
#pragma GCC visibility pop

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_CUPTI_H_
