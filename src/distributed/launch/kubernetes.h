#pragma once

// A job as Kubernetes runs it: manifests as YAML.

#include <string>

#include "distributed/launch/launcher.h"

namespace trireme::distributed {

struct KubernetesOptions {
  std::string image =
      "trireme:latest";  // has `trireme` on its path, and the user's program if there is one
  std::string etcd_image = "quay.io/coreos/etcd:v3.5.17";
  std::string claim =
      {};  // of data and results, which there is already; empty: one is among the manifests
  std::string cpu = "1", memory = "2Gi";  // that each process asks for
  int metrics_port = 9464;
};

// Of the job `launch`: its name, file or program with its arguments, trainers, servers, threads,
// settings, output and id. If `launch.credentials` is a folder, its certificates become a Secret,
// else a comment says how to make one. Errors: usage, for names and numbers that Kubernetes does
// not take; as read_credentials().
std::string kubernetes_manifests(const LaunchOptions& launch, const KubernetesOptions& options);

}  // namespace trireme::distributed
