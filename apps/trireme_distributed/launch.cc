// `trireme launch`: runs a job, or prints what runs it on Kubernetes.

#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <string>

#include "commands.h"
#include "distributed/launch/kubernetes.h"
#include "distributed/launch/launcher.h"

namespace commands {
namespace {

namespace dist = trireme::distributed;

constexpr const char* kExamples = R"(examples:
  trireme launch --trainers 2 job.toml               two processes, kept in step by all-reduce
  trireme launch --trainers 2 --servers 2 job.toml   parameters on servers: [distributed] mode = "asynchronous"
  trireme launch --trainers 2:4 job.toml             four, and it goes on while two are left
  trireme launch --trainers 2 --masters 2 job.toml   a second master leads as soon as the first one dies
  trireme launch --trainers 2 --etcd 127.0.0.1:2379 job.toml
a program of your own (trireme/distributed.h), and what it is called with:
  trireme launch --program ./mine --trainers 2 --servers 1 -- --epochs 3
on several machines, which see one folder with the job, its data and certificates:
  srun -N3 -n3 trireme launch --interface eth0 --credentials keys --trainers 6 --servers 3 job.toml
  mpirun -np 3 trireme launch --interface eth0 --credentials keys --trainers 6 --servers 3 job.toml
  MASTER_ADDR=10.0.0.1 MASTER_PORT=29500 WORLD_SIZE=3 RANK=0 trireme launch --interface eth0 ...   and so on
on Kubernetes:
  trireme launch --kubernetes --image registry/trireme:1 --trainers 4 --servers 2 job.toml > job.yaml
  trireme launch --kubernetes --image registry/mine:1 --program /usr/local/bin/mine --trainers 4 -- --epochs 3 > mine.yaml
trireme job status, scale and stop talk to jobs that run.
)";

std::string own_path() {
  char path[4096];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : "";
}

struct Options {
  dist::LaunchOptions launch;
  dist::KubernetesOptions kubernetes;
  std::string placement = "auto", trainers, program;
  std::vector<std::string> words;  // the job file, or the program's arguments
  bool print = false;
};

void add_places(CLI::App& command, Options& options) {
  const std::string group = "Where processes run";
  dist::LaunchOptions& launch = options.launch;
  const auto add = [&](const char* name, auto& value, const char* help) {
    command.add_option(name, value, help)->group(group);
  };
  add("--interface", launch.interface, "network interface that processes listen at (lo)");
  add("--bind", launch.bind, "the same by an IP address of this machine");
  add("--credentials", launch.credentials,
      "folder of the job's certificates, which all machines see; made if it is not there");
  add("--etcd", launch.etcd, "HOST:PORT[,HOST:PORT] of an etcd that keeps what the job agrees by");
  add("--etcd-credentials", launch.etcd_credentials, "folder of the certificates for etcd");
  add("--placement", options.placement,
      "who has placed launchers: auto, none, torch, paddle, openmpi, pmi or slurm (auto)");
  add("--name", launch.name, "of the job (its file's)");
  add("--id", launch.id, "what no other job of that name has (Slurm's or MPI's number, or random)");
  add("--wait", launch.patience, "seconds that launchers wait for each other (120)");
}

void add_kubernetes(CLI::App& command, Options& options) {
  const std::string group = "Kubernetes";
  dist::KubernetesOptions& kubernetes = options.kubernetes;
  command.add_flag("--kubernetes", options.print, "print manifests instead of running the job")
      ->group(group);
  const auto add = [&](const char* name, auto& value, const char* help) {
    command.add_option(name, value, help)->group(group);
  };
  add("--image", kubernetes.image, "that has `trireme`, and with --program that (trireme:latest)");
  add("--etcd-image", kubernetes.etcd_image, "(quay.io/coreos/etcd:v3.5.17)");
  add("--claim", kubernetes.claim, "PersistentVolumeClaim of data and results; else one is made");
  add("--cpu", kubernetes.cpu, "of each process (1)");
  add("--memory", kubernetes.memory, "of each process (2Gi)");
}

// Of "3", or of "2:4".
void set_trainers(dist::LaunchOptions& options, const std::string& text) {
  if (text.empty()) return;
  const char* const end = text.data() + text.size();
  int first = 0, last = 0;
  auto at = std::from_chars(text.data(), end, first);
  const bool range = at.ec == std::errc() && at.ptr != end && *at.ptr == ':';
  if (range) at = std::from_chars(at.ptr + 1, end, last);
  if (at.ec != std::errc() || at.ptr != end || (range && (first < 1 || last < first))) {
    throw CLI::ValidationError("--trainers", "a number is expected, or MIN:MAX, not " + text);
  }
  options.trainers = range ? last : first;
  options.min_trainers = range ? first : 0;
}

void set_job(Options& options) {
  dist::LaunchOptions& launch = options.launch;
  if (options.program.empty()) {
    if (options.words.empty()) throw CLI::RequiredError("a job file, or --program");
    if (options.words.size() > 1)
      throw CLI::ExtrasError({options.words.begin() + 1, options.words.end()});
    launch.job = options.words.front();
    return;
  }
  launch.job = options.program;
  launch.own_program = true;
  launch.arguments = options.words;
}

void check(const Options& options) {
  const dist::LaunchOptions& launch = options.launch;
  if (launch.patience < 1 || launch.patience > 86400) {
    throw CLI::ValidationError("--wait", "1 to 86400 seconds are expected");
  }
}

}  // namespace

void add_launch(CLI::App& app) {
  static Options options;
  dist::LaunchOptions& launch = options.launch;
  CLI::App* command =
      app.add_subcommand("launch", std::string("run a job by several processes\n\n") + kExamples);
  command->add_option("job", options.words, "a job file; with --program, behind --, its arguments");
  command->add_option(
      "--program", options.program,
      "a program of yours that trains, instead of a job file; for Kubernetes its path in "
      "the image");
  command->add_option("--trainers", options.trainers,
                      "processes that train (2), or MIN:MAX of them");
  command->add_option("--servers", launch.servers, "parameter servers (0)");
  command
      ->add_option("--masters", launch.masters,
                   "one leads and the others stand by (1; 2 on several machines and Kubernetes)")
      ->check(CLI::Range(1, 16));
  command->add_option("--threads", launch.threads, "of each trainer (1)");
  command->add_option("--restarts", launch.restarts, "of processes that end badly, in all (10)")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--set", launch.set, "SECTION.KEY=VALUE instead of what the job says")
      ->allow_extra_args(false);  // what follows is the job
  command->add_option("-o,--output", launch.output, "folder of the saved model");
  command
      ->add_option("--metrics-port", launch.metrics_port,
                   "where the launcher tells metrics and health (any); of pods 9464, each one's")
      ->check(CLI::Range(0, 65535));
  command->add_option("--metrics-host", launch.metrics_host,
                      "address of these ports, of all processes (127.0.0.1)");
  add_places(*command, options);
  add_kubernetes(*command, options);
  command->callback([] {
    check(options);
    set_job(options);
    set_trainers(options.launch, options.trainers);
    if (options.print) {
      if (options.launch.metrics_port != 0) {
        options.kubernetes.metrics_port = options.launch.metrics_port;
      }
      const std::string unused = dist::check_launch(options.launch);
      if (!unused.empty()) std::fprintf(stderr, "%s\n", unused.c_str());
      std::fputs(dist::kubernetes_manifests(options.launch, options.kubernetes).c_str(), stdout);
      return;
    }
    options.launch.program = own_path();
    options.launch.terminal = ::isatty(1) != 0;
    options.launch.stop = stop_came;
    options.launch.placement = dist::placement_of(dist::own_environment(), options.placement);
    dist::launch(options.launch);
  });
}

}  // namespace commands
