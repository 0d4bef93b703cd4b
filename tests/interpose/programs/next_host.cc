// Prints the result of the chain of preloaded libraries; see next_library.cc.
#include <dlfcn.h>

#include <cstdio>

int main() {
  auto* probe = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "NextProbe"));
  std::printf("%d\n", probe == nullptr ? -1 : probe());
  return 0;
}
