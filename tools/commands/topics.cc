#include "tools/commands/topics.h"

#include <algorithm>
#include <iterator>

namespace vramstow {

namespace {

constexpr Topic kTopics[] = {
    {"out-of-memory",
     "A job dies with \"CUDA out of memory\":\n"
     "\n"
     "  vramstow run -- python train.py         records what it allocates, and who holds it\n"
     "  vramstow analyze                        says why it died, the line, and what to do\n"
     "  vramstow report --open                  shows the same as a page\n"
     "  vramstow run --pool=on -- python …      lives where free memory lay in pieces\n"
     "  vramstow run --offload -- python …      lives where more is needed than the card has\n"
     "  vramstow fit --simulate=h200 -- …       finds the largest batch that fits\n"
     "\n"
     "More: vramstow help analyze.md, vramstow help troubleshooting.md.\n"},
    {"traces",
     "A trace holds each call that allocated or freed device memory, with time and call stack:\n"
     "\n"
     "  vramstow run --trace-dir=DIR -- …       writes one file for each process that uses CUDA\n"
     "  vramstow analyze TRACE                  explains it; report: as a page; diff: two of "
     "them\n"
     "  vramstow export TRACE --to FORMAT       for other tools\n"
     "  vramstow run --no-trace -- …            writes none\n"
     "\n"
     "Only their owner can read them. Values that look like secrets are left out of the command\n"
     "line. More: vramstow help run.md, vramstow help trace-format.md.\n"},
    {"stacks",
     "Call stacks say which line of the program allocated:\n"
     "\n"
     "  --stacks=auto     of allocations, where the program runs Python (the default)\n"
     "  --stacks=sites    with PyTorch's operator, backward function and module, too\n"
     "  --stacks=all      of every event\n"
     "  --stacks=off      none\n"
     "\n"
     "More: vramstow help run.md; what they cost: vramstow help measurements.md.\n"},
    {"census",
     "When PyTorch runs out of memory, a census looks up which variable, list, graph or frame\n"
     "holds each tensor. vramstow analyze names it beside the line that allocated.\n"
     "\n"
     "  --census=auto     where it is compiled or lies in the wheel (the default)\n"
     "  --census=on|off   compile it first, or never look\n"
     "  vramstow ctl PID census                 asks a process that runs\n"
     "\n"
     "More: vramstow help census.md.\n"},
    {"garbage",
     "Python's collector does not know that the card is full. With --pool=on, dead reference\n"
     "cycles that hold tensors are collected before a request fails.\n"
     "\n"
     "  --collect=auto    with the pool, unless the program switched the collector off\n"
     "  --collect=on|off  always, or never\n"
     "\n"
     "More: vramstow help census.md.\n"},
    {"pool",
     "The pool serves cudaMalloc, cuMemAlloc and PyTorch's tensors from memory that it moves\n"
     "together when free pieces are too small. PyTorch's own allocator is set aside.\n"
     "\n"
     "  vramstow run --pool=on -- python train.py\n"
     "  --limit=20GiB     the most that it takes of one device\n"
     "  vramstow replay TRACE                   compares it with PyTorch's settings beforehand\n"
     "  vramstow ctl PID empty-cache            gives back what is free\n"
     "\n"
     "More: vramstow help pool.md.\n"},
    {"offload",
     "When the device is full, memory that nothing touched for long moves to the host, at the\n"
     "same address, and comes back when it is used. The job goes on, slower.\n"
     "\n"
     "  vramstow run --offload -- python train.py          moves by itself; the pool serves\n"
     "  vramstow run --offload=explicit -- python …        only on request\n"
     "  vramstow ctl PID offload                           now, and resume brings it back\n"
     "\n"
     "More: vramstow help offload.md.\n"},
    {"simulate",
     "A rehearsal runs the unchanged program on a simulated card: no GPU is needed, and memory\n"
     "is allocated as on a real one.\n"
     "\n"
     "  vramstow run --simulate=h200 -- python train.py\n"
     "  vramstow run --simulate=rtx4090,memory=16GiB,count=2 -- …\n"
     "  vramstow run --simulate=help            lists the cards and their options\n"
     "  vramstow fit --simulate=h100 -- …       finds the largest batch\n"
     "\n"
     "Small tensors are computed; what is too large reads as zero. More: vramstow help values.md,\n"
     "vramstow help simulated-driver.md; how true it is: vramstow help fidelity.md.\n"},
    {"metrics",
     "Figures of a running job, for Prometheus and a terminal (--metrics switches the pool on):\n"
     "\n"
     "  vramstow run --metrics=9400 -- …        serves OpenMetrics on this host\n"
     "  vramstow run --metrics=unix:PATH -- …   on a socket; FILE.prom: into a file\n"
     "  vramstow top                            all processes of this host, in the terminal\n"
     "  vramstow top --serve=9401               sums them up for Prometheus\n"
     "\n"
     "More: vramstow help prometheus.md, vramstow help metrics.md.\n"},
    {"ranks",
     "Each process of a distributed job writes a trace of its own, in one folder:\n"
     "\n"
     "  vramstow run --trace-dir=traces -- torchrun --nproc-per-node 8 train.py\n"
     "  vramstow analyze traces                 all of them together; differences between ranks\n"
     "  vramstow collect DIR --to PATH          many jobs in one data set\n"
     "\n"
     "More: vramstow help clusters.md, vramstow help fleet.md.\n"},
    {"variables",
     "Each flag of vramstow run has an environment variable; the flag wins. With them a job is\n"
     "watched without the program vramstow: LD_PRELOAD=…/libvramstow.so python train.py.\n"
     "\n"
     "  VRAMSTOW_POOL=on, VRAMSTOW_TRACE_DIR=DIR, VRAMSTOW_STACKS=sites, …\n"
     "\n"
     "All of them: vramstow help configuration.md.\n"},
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
