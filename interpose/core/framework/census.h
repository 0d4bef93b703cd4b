// Who holds a framework's memory: the third table of include/vramstow/framework.h.
//
// Ownership: static storage; texts are copied. Threads: any, without locks of the framework that an
// allocation takes. Errors: codes of vramstow.h. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_CENSUS_H_
#define VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_CENSUS_H_

struct vramstow_framework;

namespace vramstow {

// Null: nothing is traced here.
const vramstow_framework* CensusTable();

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_FRAMEWORK_CENSUS_H_
