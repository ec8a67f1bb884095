// `trireme launch`: runs a job in several processes, or prints its manifests for Kubernetes.

#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <string>

#include "commands.h"
#include "distributed/launch/kubernetes.h"
#include "distributed/launch/launcher.h"
#include "distributed/launch/program_command.h"

namespace commands {
namespace {

namespace dist = trireme::distributed;

constexpr const char* kExamples = R"(examples:
  trireme launch --trainers 2 job.toml               two trainers, synchronized by all-reduce
  trireme launch --trainers 2 --servers 2 job.toml   parameter servers: [distributed] mode = "asynchronous"
  trireme launch --trainers 2:4 job.toml             four trainers; continues with two or three
  trireme launch --trainers 2 --masters 2 job.toml   a standby master takes over if the leader fails
  trireme launch --trainers 2 --etcd 127.0.0.1:2379 job.toml
your own program (trireme/distributed.h) and its arguments:
  trireme launch --program ./mine --trainers 2 --servers 1 -- --epochs 3
  trireme launch --program "python train.py" --trainers 2 -- --epochs 3
on several machines with a shared folder for the job, its data and certificates:
  srun -N3 -n3 trireme launch --interface eth0 --credentials keys --trainers 6 --servers 3 job.toml
  mpirun -np 3 trireme launch --interface eth0 --credentials keys --trainers 6 --servers 3 job.toml
  MASTER_ADDR=10.0.0.1 MASTER_PORT=29500 WORLD_SIZE=3 RANK=0 trireme launch --interface eth0 ...   on each machine
on Kubernetes:
  trireme launch --kubernetes --image registry/trireme:1 --trainers 4 --servers 2 job.toml > job.yaml
  trireme launch --kubernetes --image registry/mine:1 --program /usr/local/bin/mine --trainers 4 -- --epochs 3 > mine.yaml
trireme job status, scale and stop control running jobs.
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
  add("--interface", launch.interface, "network interface that processes listen on (lo)");
  add("--bind", launch.bind, "IP address that processes listen on, instead of --interface");
  add("--credentials", launch.credentials,
      "shared folder with the certificates of the job; created if it does not exist");
  add("--etcd", launch.etcd,
      "HOST:PORT[,HOST:PORT] of an etcd for the keys of the job (default: launcher 0 keeps them)");
  add("--etcd-credentials", launch.etcd_credentials, "folder with the certificates for etcd");
  add("--placement", options.placement,
      "environment that started the launchers: auto, none, torch, paddle, openmpi, pmi or slurm "
      "(auto)");
  add("--name", launch.name, "name of the job (the name of its file)");
  add("--id", launch.id,
      "unique identifier among jobs of that name (the job number of Slurm or MPI, or random)");
  add("--wait", launch.patience, "seconds that launchers wait for each other at the start (120)");
}

void add_kubernetes(CLI::App& command, Options& options) {
  const std::string group = "Kubernetes";
  dist::KubernetesOptions& kubernetes = options.kubernetes;
  command.add_flag("--kubernetes", options.print, "print manifests instead of running the job")
      ->group(group);
  const auto add = [&](const char* name, auto& value, const char* help) {
    command.add_option(name, value, help)->group(group);
  };
  add("--image", kubernetes.image,
      "image with `trireme`, and with the program of --program (trireme:latest)");
  add("--etcd-image", kubernetes.etcd_image, "image of etcd (quay.io/coreos/etcd:v3.5.17)");
  add("--claim", kubernetes.claim,
      "PersistentVolumeClaim for data and results (default: a new one)");
  add("--cpu", kubernetes.cpu, "processors of each process (1)");
  add("--memory", kubernetes.memory, "memory of each process (2Gi)");
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
  launch.arguments = dist::program_words(options.program);
  launch.job = launch.arguments.front();
  launch.arguments.erase(launch.arguments.begin());
  launch.arguments.insert(launch.arguments.end(), options.words.begin(), options.words.end());
  launch.own_program = true;
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
      app.add_subcommand("launch", std::string("train a job in several processes\n\n") + kExamples);
  command->add_option("job", options.words,
                      "job file; with --program the arguments of the program, after --");
  command->add_option(
      "--program", options.program,
      "your own training program, instead of a job file, such as ./mine or \"python train.py\"; "
      "for Kubernetes its path in the image");
  command->add_option("--trainers", options.trainers, "number of trainers, or MIN:MAX (2)");
  command->add_option("--servers", launch.servers, "number of parameter servers (0)");
  command
      ->add_option(
          "--masters", launch.masters,
          "number of masters: one leader and standbys (1; 2 on several machines and Kubernetes)")
      ->check(CLI::Range(1, 16));
  command->add_option("--threads", launch.threads, "threads of each trainer (1)");
  command
      ->add_option("--handlers", launch.handlers,
                   "threads of each parameter server for requests (as many as processors)")
      ->check(CLI::Range(0, 1024));
  command
      ->add_option("--restarts", launch.restarts,
                   "maximum number of restarts of failed processes, in total (10)")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--set", launch.set, "SECTION.KEY=VALUE: change one key of the job (repeatable)")
      ->allow_extra_args(false);  // what follows is the job
  command->add_option("-o,--output", launch.output, "folder of the saved model");
  command
      ->add_option(
          "--metrics-port", launch.metrics_port,
          "port for metrics and health checks (default: any free port; 9464 in Kubernetes)")
      ->check(CLI::Range(0, 65535));
  command->add_option("--metrics-host", launch.metrics_host,
                      "address for metrics and health checks of all processes (127.0.0.1)");
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
