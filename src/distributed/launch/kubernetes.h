#pragma once

// A job on Kubernetes: manifests as YAML.

#include <string>

#include "distributed/launch/launcher.h"

namespace trireme::distributed {

struct KubernetesOptions {
  std::string image =
      "trireme:latest";  // has `trireme` on its path, and the program of the user if there is one
  std::string etcd_image = "quay.io/coreos/etcd:v3.5.17";
  std::string claim = {};  // an existing claim for data and results; empty: the manifests have one
  std::string cpu = "1", memory = "2Gi";  // requests of each process
  int metrics_port = 9464;
};

// For the job `launch`: its name, file or program with arguments, trainers, servers, threads,
// settings, output and id. If `launch.credentials` is a folder, its certificates become a Secret;
// otherwise a comment explains how to make one. Errors: usage for names and numbers that Kubernetes
// does not accept; as read_credentials().
std::string kubernetes_manifests(const LaunchOptions& launch, const KubernetesOptions& options);

}  // namespace trireme::distributed
