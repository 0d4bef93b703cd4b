// Implements a descriptor of cuDNN's backend ("graph") API: a type and attributes, which cannot
// change after the descriptor is finalized.
//
// Idea: almost all data of this API only has to be stored and returned, so one generic descriptor
// serves all 51 types. finalize.cc lists what a type needs before it is complete, and answers.cc
// computes the attributes that were not set.
//
// A descriptor that is set as an attribute of another descriptor is shared, not copied, because its
// contents are final by then. cuDNN fills in descriptors that the caller created; here the caller's
// descriptor shares the contents.
//
// Ownership: cudnnBackendCreateDescriptor allocates a Descriptor, and …Destroy frees it; its
// contents live as long as any descriptor refers to them. Threads: no two threads change one
// descriptor at a time. Errors: cuDNN's status codes; a failed allocation throws std::bad_alloc,
// which the API converts to a status.
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
  // Return all numbers of an INT64 attribute, or only the first one. If the attribute is not set,
  // Number returns `otherwise`.
  std::vector<int64_t> Numbers(cudnnBackendAttributeName_t name) const;
  int64_t Number(cudnnBackendAttributeName_t name, int64_t otherwise) const;
  // Returns the first descriptor of an attribute, or null if it is not set.
  ContentsPointer Reference(cudnnBackendAttributeName_t name) const;

  void SetNumber(cudnnBackendAttributeName_t name, int64_t number);
  void SetReference(cudnnBackendAttributeName_t name, ContentsPointer reference);
};

struct Descriptor {
  uint64_t magic;
  std::shared_ptr<Contents> contents;
};

inline constexpr uint64_t kDescriptorMagic = 0x76737464'44455343;

// Returns the descriptor behind the caller's pointer, or null if it is not a descriptor.
Descriptor* AsDescriptor(cudnnBackendDescriptor_t descriptor);

// Returns the bytes of one element of an attribute type, or 0 for an unknown type.
size_t BytesOf(cudnnBackendAttributeType_t type);

// Checks that a descriptor is complete (finalize.cc).
cudnnStatus_t Finalize(Contents* contents);

// Returns the value of an attribute that a finalized descriptor computes, such as engines, results
// of heuristics and sizes. Returns null if it is not such an attribute (answers.cc).
std::shared_ptr<const Value> Answer(const ContentsPointer& contents,
                                    cudnnBackendAttributeName_t name);

// Returns the workspace for running `graph` on engine `engine`, in bytes (answers.cc).
size_t GraphWorkspace(const Contents& graph, int64_t engine);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUDNN_BACKEND_DESCRIPTOR_H_
