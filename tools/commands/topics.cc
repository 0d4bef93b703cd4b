#include "tools/commands/topics.h"

#include <algorithm>
#include <iterator>

namespace vramstow {

namespace {

constexpr Topic kTopics[] = {
    {"out-of-memory",
     "A job dies with \"CUDA out of memory\":\n\n  vramstow run -- python train.py         records "
     "its allocations, and what references them\n  vramstow analyze                        says "
     "why memory ran out, the line, and what to do\n  vramstow report --open                  "
     "shows the same as an HTML page\n  vramstow run --pool=on -- python …      avoids "
     "fragmentation\n  vramstow run --offload -- python …      runs a job that is larger than the "
     "GPU\n  vramstow fit --simulate=h200 -- …       finds the largest batch that fits\n\nMore: "
     "vramstow help analyze.md, vramstow help troubleshooting.md.\n"},
    {"traces",
     "A trace contains each call that allocated or freed device memory, with time and call "
     "stack:\n\n  vramstow run --trace-dir=DIR -- …       writes one file for each process that "
     "uses CUDA\n  vramstow analyze TRACE                  explains it; report: as a page; diff: "
     "compares two\n  vramstow export TRACE --to FORMAT       converts it for other tools\n  "
     "vramstow run --no-trace -- …            writes none\n\nOnly their owner can read traces. "
     "Values that look like secrets are removed from the command\nline. More: vramstow help "
     "run.md, vramstow help trace-format.md.\n"},
    {"stacks",
     "Call stacks show which line of the program allocated memory:\n\n  --stacks=auto     of "
     "allocations, if the program runs Python (the default)\n  --stacks=sites    also with "
     "PyTorch's operator, backward function and module\n  --stacks=all      of every event\n  "
     "--stacks=off      none\n\nMore: vramstow help run.md; what they cost: vramstow help "
     "measurements.md.\n"},
    {"census",
     "When PyTorch runs out of memory, a census (a reference scan) finds which variable, list, "
     "graph\nor frame references each tensor. vramstow analyze shows it with the line that "
     "allocated.\n\n  --census=auto     if it is compiled or part of the wheel (the default)\n  "
     "--census=on|off   compile it first, or never run it\n  vramstow ctl PID census               "
     "  runs it in a running process\n\nMore: vramstow help census.md.\n"},
    {"garbage",
     "Python's garbage collector does not know that the GPU is full. With --pool=on, "
     "unreachable\nreference cycles that hold tensors are collected before a request fails.\n\n  "
     "--collect=auto    with the pool, unless the program switched the collector off\n  "
     "--collect=on|off  always, or never\n\nMore: vramstow help census.md.\n"},
    {"pool",
     "The pool serves cudaMalloc, cuMemAlloc and PyTorch's tensors from memory that it "
     "combines\nwhen free pieces are too small. It replaces PyTorch's own allocator.\n\n  vramstow "
     "run --pool=on -- python train.py\n  --limit=20GiB     the most memory that it may use on one "
     "device\n  vramstow replay TRACE                   compares it with PyTorch's settings "
     "beforehand\n  vramstow ctl PID empty-cache            returns free memory to the "
     "driver\n\nMore: vramstow help pool.md.\n"},
    {"offload",
     "When the device is full, memory that was not used for long moves to the host, at the "
     "same\naddress, and moves back when it is used. The job continues, slower.\n\n  vramstow run "
     "--offload -- python train.py          moves memory by itself, with the pool\n  vramstow run "
     "--offload=explicit -- python …        only on request\n  vramstow ctl PID offload            "
     "               moves memory now; resume moves it back\n\nMore: vramstow help offload.md.\n"},
    {"simulate",
     "A simulated run executes the unchanged program on a simulated GPU: no real GPU is needed, "
     "and\nmemory is allocated as on a real one.\n\n  vramstow run --simulate=h200 -- python "
     "train.py\n  vramstow run --simulate=rtx4090,memory=16GiB,count=2 -- …\n  vramstow run "
     "--simulate=help            lists the GPUs and their options\n  vramstow fit --simulate=h100 "
     "-- …       finds the largest batch\n\nSmall tensors are computed; results that are too large "
     "read as zero. More: vramstow help\nvalues.md, vramstow help simulated-driver.md; how exact "
     "it is: vramstow help fidelity.md.\n"},
    {"metrics",
     "Figures of a running job, for Prometheus and a terminal:\n\n  vramstow run --metrics=9400 -- "
     "…        serves OpenMetrics on this host\n  vramstow run --metrics=unix:PATH -- …   on a "
     "socket; FILE.prom: into a file\n  vramstow top                            all processes of "
     "this host, in the terminal\n  vramstow top --serve=9401               reports all of them to "
     "Prometheus\n\nMore: vramstow help prometheus.md, vramstow help metrics.md.\n"},
    {"ranks",
     "Each process of a distributed job writes its own trace, in one folder:\n\n  vramstow run "
     "--trace-dir=traces -- torchrun --nproc-per-node 8 train.py\n  vramstow analyze traces        "
     "         all of them together; differences between ranks\n  vramstow collect DIR --to PATH   "
     "       many jobs in one dataset\n\nMore: vramstow help clusters.md, vramstow help "
     "fleet.md.\n"},
    {"variables",
     "Each flag of vramstow run has an environment variable; if both are given, the flag is used. "
     "With\nthe variables vramstow works without vramstow run:\n\n"
     "  LD_PRELOAD=…/libvramstow.so python train.py\n\n  VRAMSTOW_POOL=on, VRAMSTOW_TRACE_DIR=DIR, "
     "VRAMSTOW_STACKS=sites, "
     "…\n\nAll of them: vramstow help configuration.md.\n"},
};

}  // namespace

const std::vector<Topic>& AllTopics() {
  static const std::vector<Topic> topics(std::begin(kTopics), std::end(kTopics));
  return topics;
}

const Topic* FindTopic(std::string_view name) {
  const auto found =
      std::ranges::find_if(AllTopics(), [name](const Topic& topic) { return topic.name == name; });
  return found == AllTopics().end() ? nullptr : &*found;
}

}  // namespace vramstow
