#include "simulator/driver/image_bytes.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

namespace vramstow::simulator {
namespace {

constexpr size_t kPage = 4096;
// Upper limit of a table in an image; a larger size field is wrong.
constexpr uint64_t kTableMax = 256ull << 20;

// Copies memory of this process and fails where nothing is mapped. If the kernel does not allow the
// system call, the memory is trusted and copied directly.
bool CopyMemory(uintptr_t from, void* to, size_t bytes) {
  const int before = errno;
  const iovec local = {to, bytes};
  const iovec remote = {reinterpret_cast<void*>(from), bytes};
  const ssize_t copied = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
  const bool forbidden = copied < 0 && (errno == EPERM || errno == ENOSYS);
  errno = before;
  if (forbidden) memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return forbidden || copied == static_cast<ssize_t>(bytes);
}

}  // namespace

bool ImageBytes::Read(uint64_t offset, void* to, size_t bytes) const {
  if (bytes > size_ || offset > size_ - bytes || start_ + offset < start_) return false;
  return bytes == 0 || CopyMemory(start_ + offset, to, bytes);
}

bool ImageBytes::Read(uint64_t offset, uint64_t bytes, std::vector<char>* to) const {
  if (bytes > kTableMax || bytes > size_ || offset > size_ - bytes) return false;
  // Checks that the last byte is readable before memory is allocated for the copy.
  char last = 0;
  if (bytes > 0 && !Read(offset + bytes - 1, &last)) return false;
  to->resize(bytes);
  return Read(offset, to->data(), bytes);
}

bool ImageBytes::ReadText(uint64_t offset, size_t limit, std::string* text) const {
  text->clear();
  char page[kPage];
  while (text->size() < limit) {
    const uint64_t at = offset + text->size();
    if (at >= size_) return false;
    // Reads only to the end of a page, because the next one may not be mapped.
    const size_t to_page = kPage - (start_ + at) % kPage;
    const auto bytes = std::min<uint64_t>({to_page, size_ - at, limit - text->size()});
    if (!Read(at, page, bytes)) return false;
    const char* end = static_cast<const char*>(memchr(page, '\0', bytes));
    text->append(page, end == nullptr ? bytes : static_cast<size_t>(end - page));
    if (end != nullptr) return true;
  }
  return false;
}

ImageBytes ImageBytes::Part(uint64_t offset, size_t bytes) const {
  if (bytes > size_ || offset > size_ - bytes) return {nullptr, 0};
  return {reinterpret_cast<const void*>(start_ + offset), bytes};
}

}  // namespace vramstow::simulator
