#include "adapters/torch/census/graph.h"

#include <sys/uio.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/functions/tensor.h>
#include <torch/csrc/autograd/generated/Functions.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <unistd.h>

#include <cstring>
#include <mutex>
#include <typeindex>
#include <typeinfo>
#include <unordered_map>
#include <vector>

namespace vramstow::torch_census {
namespace {

using torch::autograd::AutogradMeta;
using torch::autograd::SavedVariable;

// Gives access to private members of PyTorch's classes: an explicit instantiation of a template may
// name private members.
template <typename Tag, typename Tag::type member>
struct Member {
  friend typename Tag::type Get(Tag) { return member; }
};
struct SavedData {
  using type = at::Tensor SavedVariable::*;
  friend type Get(SavedData);
};
template struct Member<SavedData, &SavedVariable::data_>;
struct NodeMutex {
  using type = std::mutex Node::*;
  friend type Get(NodeMutex);
};
template struct Member<NodeMutex, &Node::mutex_>;

// The offset of a saved tensor in a class of autograd nodes.
struct SavedField {
  const std::type_info* type;
  size_t offset;
  bool is_list;
};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
namespace generated = torch::autograd::generated;
#define VRAMSTOW_SAVED(node, member) \
  {&typeid(generated::node), offsetof(generated::node, member), false},
#define VRAMSTOW_SAVED_LIST(node, member) \
  {&typeid(generated::node), offsetof(generated::node, member), true},
const SavedField kFields[] = {
#include VRAMSTOW_SAVED_FIELDS
    {&typeid(void), 0, false}};
#undef VRAMSTOW_SAVED
#undef VRAMSTOW_SAVED_LIST

// The beginning of PyNode, whose own header needs Python's headers.
struct PyNodeView : Node {
  Object* obj;
};
constexpr size_t kContextOfNode = offsetof(PyNodeView, obj);
#pragma GCC diagnostic pop

enum class Kind : uint8_t { kOther, kGenerated, kAccumulate, kCopySlices, kPython };

struct NodeType {
  Kind kind = Kind::kOther;
  const SavedField* fields = nullptr;
  const SavedField* end = nullptr;
};

const NodeType& TypeOf(const Node& node) {
  static auto* types = new std::unordered_map<std::type_index, NodeType>;
  const std::type_info& type = typeid(node);
  const auto [place, is_new] = types->try_emplace(type);
  if (!is_new) return place->second;
  NodeType& found = place->second;
  if (type == typeid(torch::autograd::AccumulateGrad)) found.kind = Kind::kAccumulate;
  if (type == typeid(torch::autograd::CopySlices)) found.kind = Kind::kCopySlices;
  if (std::strcmp(type.name(), "N5torch8autograd6PyNodeE") == 0) found.kind = Kind::kPython;
  for (const SavedField& field : kFields) {
    if (*field.type != type) continue;
    found.kind = Kind::kGenerated;
    if (found.fields == nullptr) found.fields = &field;
    found.end = &field + 1;
  }
  return found;
}

Impl* ImplOfSaved(const SavedVariable& saved) {
  const at::Tensor& data = saved.*Get(SavedData());
  return data.defined() ? data.unsafeGetTensorImpl() : nullptr;
}

AutogradMeta* MetaOf(const Impl* impl) {
  return static_cast<AutogradMeta*>(const_cast<Impl*>(impl)->autograd_meta());
}

Type* tensor_type = nullptr;
Type* module_type = nullptr;
Type* optimizer_type = nullptr;
Type* context_type = nullptr;
size_t impl_offset = 0;

Type* TypeIn(const char* module, const char* name) {
  Object* found = PyDict_GetItemString(PyImport_GetModuleDict(), module);
  if (found == nullptr || found->type != &PyModule_Type) return nullptr;
  found = PyDict_GetItemString(PyModule_GetDict(found), name);
  return found != nullptr && Is(found, kIsType) ? reinterpret_cast<Type*>(found) : nullptr;
}

bool IsSub(const Type* type, Type* base) {
  return base != nullptr && (type == base || PyType_IsSubtype(const_cast<Type*>(type), base) != 0);
}

template <typename T>
bool ReadSafely(const void* from, T* to) {
  iovec local = {to, sizeof *to};
  iovec remote = {const_cast<void*>(from), sizeof *to};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(sizeof *to);
}

// True if there is a tensor at the address. Everything is read through the kernel.
bool IsPlainImpl(const void* address) {
  const void* const* table = nullptr;
  const std::type_info* type = nullptr;
  return ReadSafely(address, &table) && table != nullptr && ReadSafely(table - 1, &type) &&
         type == &typeid(Impl);
}

// Holds a node's lock. If the thread `working` holds the lock, this class does not lock, because
// that thread does not run meanwhile.
class NodeLock {
 public:
  NodeLock(Node* node, int working) : mutex_(node->*Get(NodeMutex())), owns_(mutex_.try_lock()) {
    is_calm_ = owns_ || mutex_.native_handle()->__data.__owner == working;
  }
  ~NodeLock() {
    if (owns_) mutex_.unlock();
  }
  NodeLock(const NodeLock&) = delete;
  NodeLock& operator=(const NodeLock&) = delete;
  bool is_calm() const { return is_calm_; }

 private:
  std::mutex& mutex_;
  const bool owns_;
  bool is_calm_;
};

void VisitFields(const Node* node, const NodeType& type, const Graph::Visit& visit) {
  for (const SavedField* field = type.fields; field != type.end; ++field) {
    const char* place = reinterpret_cast<const char*>(node) + field->offset;
    if (!field->is_list) {
      visit.saved(ImplOfSaved(*reinterpret_cast<const SavedVariable*>(place)));
      continue;
    }
    for (const auto& saved : *reinterpret_cast<const std::vector<SavedVariable>*>(place)) {
      visit.saved(ImplOfSaved(saved));
    }
  }
}

template <typename N>
Object* ContextOf(N* node) {
  if constexpr (requires { node->pyobj_slot()->load_pyobj(); }) {
    return reinterpret_cast<Object*>(node->pyobj_slot()->load_pyobj());
  } else {
    return *reinterpret_cast<Object**>(reinterpret_cast<char*>(node) + kContextOfNode);
  }
}

template <typename S>
const c10::DataPtr& DataOf(const S& storage) {
  if constexpr (requires { storage._mutable_data_ptr_no_checks(); }) {
    return const_cast<S&>(storage)._mutable_data_ptr_no_checks();
  } else {
    return storage.data_ptr();
  }
}

}  // namespace

bool Graph::Look() {
  tensor_type = TypeIn("torch._C", "TensorBase");
  if (tensor_type == nullptr) tensor_type = TypeIn("torch._C", "_TensorBase");
  module_type = TypeIn("torch.nn.modules.module", "Module");
  optimizer_type = TypeIn("torch.optim.optimizer", "Optimizer");
  context_type = TypeIn("torch._C", "_FunctionBase");
  if (tensor_type == nullptr) return false;
  // The object consists of a head of 16 bytes, the tensor, and two pointers. Up to PyTorch 2.9 a
  // flag precedes the tensor.
  impl_offset = tensor_type->basic_size == 40 ? 16 : tensor_type->basic_size == 48 ? 24 : 0;
  return impl_offset != 0;
}

bool Graph::IsTensor(const Type* type) { return IsSub(type, tensor_type); }
bool Graph::IsModule(const Type* type) { return IsSub(type, module_type); }
bool Graph::IsOptimizer(const Type* type) { return IsSub(type, optimizer_type); }
bool Graph::IsContext(const Type* type) { return IsSub(type, context_type); }
bool Graph::IsGradFn(const Object* holder, const Object* held) {
  return IsTensor(holder->type) && IsContext(held->type);
}

Impl* Graph::ImplOf(Object* tensor) {
  auto* impl = *reinterpret_cast<Impl**>(reinterpret_cast<char*>(tensor) + impl_offset);
  return impl == c10::UndefinedTensorImpl::singleton() ? nullptr : impl;
}

Memory Graph::MemoryOf(const Impl* impl) {
  const c10::StorageImpl* storage = impl->unsafe_storage().unsafeGetStorageImpl();
  if (storage == nullptr) return {};
  const c10::DataPtr& data = DataOf(*storage);
  if (data.get() == nullptr || data.device().type() != c10::DeviceType::CUDA) return {};
  try {
    return {reinterpret_cast<uint64_t>(data.get()), storage->nbytes(), data.device().index()};
  } catch (const std::exception&) {
    return {};  // a symbolic size
  }
}

Impl* Graph::GradientOf(const Impl* impl) {
  const AutogradMeta* meta = MetaOf(impl);
  if (meta == nullptr || !meta->grad_.defined()) return nullptr;
  return meta->grad_.unsafeGetTensorImpl();
}

Node* Graph::NodeOf(const Impl* impl) {
  const AutogradMeta* meta = MetaOf(impl);
  return meta == nullptr ? nullptr : meta->grad_fn_.get();
}

std::string Graph::NameOf(Node* node) {
  try {
    return node->name();
  } catch (const std::exception&) {
    return "a function";
  }
}

const Impl* Graph::LeafOf(const Node* node) {
  if (TypeOf(*node).kind != Kind::kAccumulate) return nullptr;
  const at::Tensor& leaf = static_cast<const torch::autograd::AccumulateGrad*>(node)->variable;
  return leaf.defined() ? leaf.unsafeGetTensorImpl() : nullptr;
}

std::string Graph::Describe(const Impl* impl) {
  std::string text;
  try {
    text = c10::toString(c10::typeMetaToScalarType(impl->dtype()));
    for (char& letter : text) letter = static_cast<char>(std::tolower(letter));
    if (text == "float") text = "float32";
    if (text == "double") text = "float64";
    if (text == "half") text = "float16";
    if (text == "long") text = "int64";
    if (text == "int") text = "int32";
    if (text == "byte") text = "uint8";
    text += " [";
    for (int64_t i = 0; i < impl->dim(); ++i) {
      text += (i == 0 ? "" : ", ") + std::to_string(impl->size(i));
    }
    text += "]";
    const AutogradMeta* meta = MetaOf(impl);
    if (meta == nullptr) return text;
    if (Node* node = meta->grad_fn_.get(); node != nullptr) {
      text += ", made by " + NameOf(node);
    } else if (meta->requires_grad_) {
      text += ", requires grad";
    }
  } catch (const std::exception&) {
    text += text.empty() ? "a tensor" : "";
  }
  return text;
}

bool Graph::Expand(Node* node, int working, const Visit& visit) {
  for (const auto& edge : node->next_edges()) {
    if (edge.function != nullptr) visit.node(edge.function.get());
  }
  const NodeType& type = TypeOf(*node);
  const NodeLock lock(node, working);
  if (!lock.is_calm()) return false;
  switch (type.kind) {
    case Kind::kGenerated:
      VisitFields(node, type, visit);
      break;
    case Kind::kAccumulate: {
      const at::Tensor& leaf = static_cast<torch::autograd::AccumulateGrad*>(node)->variable;
      if (leaf.defined()) visit.saved(leaf.unsafeGetTensorImpl());
      break;
    }
    case Kind::kCopySlices:
      if (Node* inner = static_cast<torch::autograd::CopySlices*>(node)->fn.get()) {
        visit.node(inner);
      }
      break;
    case Kind::kPython:
      if (Object* context = ContextOf(node); context != nullptr) visit.context(context);
      break;
    case Kind::kOther:
      break;
  }
  return true;
}

// Finds the tensors that a context saved. The struct behind a context changes from release to
// release, and its header needs Python's headers. So the code searches for the vector of saved
// tensors. It is recognised by its contents: no other member points to several tensors in a row.
void Graph::ExpandContext(Object* context, const std::function<void(Impl*)>& saved) {
  constexpr size_t kMaxSaved = 4096;
  const auto* base = reinterpret_cast<const char*>(context);
  const auto end = static_cast<size_t>(context_type->basic_size);
  for (size_t at = sizeof(Object); at + 3 * sizeof(void*) <= end; at += sizeof(void*)) {
    uintptr_t range[3];
    std::memcpy(range, base + at, sizeof range);
    const uintptr_t bytes = range[1] - range[0];
    if (range[0] == 0 || range[0] % alignof(SavedVariable) != 0 || range[1] <= range[0] ||
        range[2] < range[1] || bytes % sizeof(SavedVariable) != 0 ||
        bytes / sizeof(SavedVariable) > kMaxSaved) {
      continue;
    }
    const auto* first = reinterpret_cast<const SavedVariable*>(range[0]);
    for (const auto* item = first; item < first + bytes / sizeof(SavedVariable); ++item) {
      Impl* impl = nullptr;
      if (!ReadSafely(&(item->*Get(SavedData())), &impl)) break;
      if (impl == nullptr || impl == c10::UndefinedTensorImpl::singleton()) continue;
      if (!IsPlainImpl(impl)) break;
      saved(impl);
    }
  }
}

}  // namespace vramstow::torch_census
