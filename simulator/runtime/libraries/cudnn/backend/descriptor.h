// A descriptor of cuDNN's backend ("graph") API: a type and attributes, frozen when finalized.
//
// Idea: almost everything that this API passes around is data which the stand-in only has to keep
// and give back, so one generic descriptor serves all 51 types; what a type needs before it is
// complete, and what it then knows of itself, is in finalize.cc and answers.cc.
//
// A descriptor that is set as an attribute of another is shared, not copied: its contents are
// frozen by then. cuDNN fills in descriptors that the caller created; here the caller's descriptor
// takes over the contents.
//
// Ownership: cudnnBackendCreateDescriptor allocates a Descriptor, …Destroy frees it; its contents
// live as long as something refers to them. Threads: no two threads change one descriptor at a
// time. Errors: cuDNN's status codes; memory that cannot be had is thrown as std::bad_alloc and
// turned into a status at the API.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUDNN_BACKEND_DESCRIPTOR_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUDNN_BACKEND_DESCRIPTOR_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "simulator/runtime/libraries/cudnn/cudnn.h"

namespace vramstow::simulator {

struct Contents;
using ContentsPointer = std::shared_ptr<const Contents>;

// The value of one attribute: `count` elements of one type, as bytes or as references.
struct Value {
  cudnnBackendAttributeType_t type = CUDNN_TYPE_INT64;
  int64_t count = 0;
  std::vector<char> bytes;
  std::vector<ContentsPointer> descriptors;  // for CUDNN_TYPE_BACKEND_DESCRIPTOR
};

struct Contents {
  cudnnBackendDescriptorType_t type = CUDNN_BACKEND_TENSOR_DESCRIPTOR;
  bool finalized = false;
  std::map<cudnnBackendAttributeName_t, Value> attributes;

  const Value* Find(cudnnBackendAttributeName_t name) const;
  // The numbers of an INT64 attribute, and one of them; `otherwise` if it is not there.
  std::vector<int64_t> Numbers(cudnnBackendAttributeName_t name) const;
  int64_t Number(cudnnBackendAttributeName_t name, int64_t otherwise) const;
  // The first descriptor of an attribute; null if it is not there.
  ContentsPointer Reference(cudnnBackendAttributeName_t name) const;

  void SetNumber(cudnnBackendAttributeName_t name, int64_t number);
  void SetReference(cudnnBackendAttributeName_t name, ContentsPointer reference);
};

struct Descriptor {
  uint64_t magic;
  std::shared_ptr<Contents> contents;
};

inline constexpr uint64_t kDescriptorMagic = 0x76737464'44455343;

// The descriptor behind the caller's pointer, null if it is none.
Descriptor* AsDescriptor(cudnnBackendDescriptor_t descriptor);

// Bytes of one element of an attribute type; 0 for an unknown one.
size_t BytesOf(cudnnBackendAttributeType_t type);

// Checks that a descriptor is complete and adds what it then knows of itself. See finalize.cc.
cudnnStatus_t Finalize(Contents* contents);

// What a finalized descriptor knows without having been told: engines, heuristics' results, sizes.
// Returns null if it is not such an attribute; otherwise the value. See answers.cc.
std::shared_ptr<const Value> Answer(const ContentsPointer& contents,
                                    cudnnBackendAttributeName_t name);

// The workspace of running `graph` on engine `engine`, in bytes. See answers.cc.
size_t GraphWorkspace(const Contents& graph, int64_t engine);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUDNN_BACKEND_DESCRIPTOR_H_
