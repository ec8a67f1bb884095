#include "distributed/launch/kubernetes.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"
#include "distributed/launch/standalone_master.h"
#include "distributed/launch/yaml.h"
#include "distributed/placement/authority.h"
#include "distributed/placement/small_file.h"

namespace trireme::distributed {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kWork = "/work";                // the claim: data, results
constexpr const char* kCredentials = "/credentials";  // the Secret
constexpr int kUser = 65532;                          // not root; any
constexpr int kTerminationGraceSeconds = 60;          // seconds that a process has after SIGTERM
// Seconds until a process reports its health. With a program, the other processes wait for its
// first message, await_work().
constexpr int kStart = 180, kStartOfProgram = 660;

// As kubectl accepts them: a DNS label, with space for suffixes.
void check_name(const std::string& name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  bool good =
      !name.empty() && name.size() <= 40 && name[0] >= 'a' && name[0] <= 'z' && letter(name.back());
  for (const char c : name) good = good && (letter(c) || c == '-');
  if (!good) {
    fail_usage(
        fmt::format("\"{}\" is no name that Kubernetes takes: a letter, then letters, digits and "
                    "\"-\", in lower case, 40 at most\n  hint   --name",
                    name));
  }
}

class Manifests {
 public:
  Manifests(const LaunchOptions& launch, const KubernetesOptions& options)
      : launch_(launch),
        options_(options),
        name_(job_name(launch)),
        masters_(masters_of(launch, /*several=*/true)),
        id_(launch.id) {
    if (id_.empty()) id_ = fmt::format("{:08x}", std::random_device()());
    std::replace(id_.begin(), id_.end(), '/', '-');  // one part of keys
    if (launch.min_trainers > 0) {
      fail_usage(
          "--trainers MIN:MAX is for launchers, which start and end trainers; on Kubernetes a Job "
          "has "
          "as many as its parallelism says\n  hint   --trainers with one number");
    }
    check_name(name_);
    if (options.metrics_port < 1024 || options.metrics_port > 65535) {
      fail_usage("--metrics-port: 1024 to 65535 is expected, since processes are not root");
    }
    if (options.image.empty() || options.etcd_image.empty()) {
      fail_usage("--image and --etcd-image must not be empty");
    }
  }

  std::string text() const {
    std::string text = head();
    for (const Json& part : all()) text += "---\n" + yaml_of(part);
    return text;
  }

 private:
  std::string head() const {
    std::string text = fmt::format(
        "# {0}: {1} trainers, {2} parameter servers, {3} masters and etcd. Made by `trireme launch "
        "--kubernetes`.\n"
        "#\n",
        name_, launch_.trainers, launch_.servers, masters_);
    if (launch_.own_program) {
      text += fmt::format("# The image {} has the program {}, and `trireme` on its path.\n#\n",
                          options_.image, launch_.job);
    }
    if (launch_.credentials.empty()) {
      text += fmt::format(
          "# Certificates first, by which its processes know each other:\n"
          "#   trireme credentials keys\n"
          "#   kubectl create secret generic {0}-credentials --from-file=keys\n#\n",
          name_);
    } else {
      text += "# This file holds the private key of the job: keep it as you keep keys.\n#\n";
    }
    return text + fmt::format(
                      "#   kubectl apply -f FILE\n"
                      "#   kubectl wait --for=condition=complete --timeout=24h job/{0}-trainers\n"
                      "#   kubectl exec job/{0}-master -- trireme job status {0} --id {1} --etcd "
                      "{0}-etcd:2379 --etcd-credentials {2}\n"
                      "#   kubectl delete -f FILE\n",
                      name_, id_, kCredentials);
  }

  std::vector<Json> all() const {
    std::vector<Json> parts;
    if (!launch_.credentials.empty()) parts.push_back(secret());
    if (!launch_.own_program) parts.push_back(job_file());
    if (options_.claim.empty()) parts.push_back(claim());
    parts.push_back(policy());
    parts.push_back(service("etcd",
                            {{{"name", "client"}, {"port", 2379}, {"targetPort", "client"}}},
                            /*headless=*/false));
    parts.push_back(etcd());
    if (launch_.servers > 0) {
      parts.push_back(service("servers", {metrics_service()}, /*headless=*/true));
      parts.push_back(servers());
    }
    parts.push_back(job("master", masters_));
    parts.push_back(job("trainers", launch_.trainers));
    return parts;
  }

  Json labels(const std::string& component) const {
    return {{"app.kubernetes.io/name", "trireme"},
            {"app.kubernetes.io/instance", name_},
            {"app.kubernetes.io/component", component},
            {"jobset.sigs.k8s.io/jobset-name", name_},
            {"jobset.sigs.k8s.io/replicatedjob-name", component}};
  }
  Json selector(const std::string& component) const {
    return {{"app.kubernetes.io/instance", name_}, {"app.kubernetes.io/component", component}};
  }
  Json head_of(const std::string& version, const std::string& kind, const std::string& component,
               const std::string& name) const {
    return {{"apiVersion", version},
            {"kind", kind},
            {"metadata", {{"name", name_ + "-" + name}, {"labels", labels(component)}}}};
  }

  Json secret() const {
    const std::int64_t now = seconds_since_1970();
    const Security keys = read_credentials(launch_.credentials, now);
    Json made = head_of("v1", "Secret", "credentials", "credentials");
    made["type"] = "Opaque";
    Json data = {{"ca.crt", keys.authority}, {"tls.crt", keys.certificate}, {"tls.key", keys.key}};
    for (const std::string role : kRoles) {  // those for everything, if the folder has no others
      const Security own = read_credentials(launch_.credentials, now, role);
      data[role + ".crt"] = own.certificate;
      data[role + ".key"] = own.key;
    }
    made["stringData"] = data;
    return made;
  }

  Json job_file() const {
    Json made = head_of("v1", "ConfigMap", "job", "job");
    made["data"] = {{"job.toml", read_small_file(launch_.job)}};
    return made;
  }

  Json claim() const {
    Json made = head_of("v1", "PersistentVolumeClaim", "files", "files");
    made["spec"] = {{"accessModes", {"ReadWriteMany"}},
                    {"resources", {{"requests", {{"storage", "10Gi"}}}}}};
    return made;
  }

  // Gradients between trainers are not encrypted: only processes of the job may connect to them.
  // Any client that reaches the port may read their metrics.
  Json policy() const {
    const Json own = {{"app.kubernetes.io/instance", name_}};
    Json made = head_of("networking.k8s.io/v1", "NetworkPolicy", "network", "network");
    Json from = Json::object(), metrics = Json::object();
    from["from"] = Json::array({{{"podSelector", {{"matchLabels", own}}}}});
    metrics["ports"] = Json::array({{{"protocol", "TCP"}, {"port", options_.metrics_port}}});
    made["spec"] = {{"podSelector", {{"matchLabels", own}}},
                    {"policyTypes", Json::array({"Ingress"})},
                    {"ingress", Json::array({from, metrics})}};
    return made;
  }

  Json service(const std::string& component, const std::vector<Json>& ports, bool headless) const {
    Json made = head_of("v1", "Service", component, component);
    made["spec"] = Json::object();
    if (headless) made["spec"]["clusterIP"] = "None";
    made["spec"]["selector"] = selector(component);
    made["spec"]["ports"] = ports;
    return made;
  }
  Json metrics_service() const {
    return {{"name", "metrics"}, {"port", options_.metrics_port}, {"targetPort", "metrics"}};
  }

  // --- Pods

  Json pod(const std::string& component, const Json& container, const Json& volumes) const {
    return {{"metadata", {{"labels", labels(component)}}},
            {"spec",
             {{"automountServiceAccountToken", false},
              {"terminationGracePeriodSeconds", kTerminationGraceSeconds},
              {"securityContext",
               {{"runAsNonRoot", true},
                {"runAsUser", kUser},
                {"runAsGroup", kUser},
                {"fsGroup", kUser},
                {"seccompProfile", {{"type", "RuntimeDefault"}}}}},
              {"containers", Json::array({container})},
              {"volumes", volumes}}}};
  }
  static Json locked() {
    return {{"allowPrivilegeEscalation", false},
            {"readOnlyRootFilesystem", true},
            {"capabilities", {{"drop", Json::array({"ALL"})}}}};
  }
  Json resources(const std::string& cpu, const std::string& memory) const {
    return {{"requests", {{"cpu", cpu}, {"memory", memory}}}};
  }
  // `who`: a role, whose pods get no other key; or "tls".
  Json keys_volume(const std::string& who) const {
    const Json items = Json::array({{{"key", "ca.crt"}, {"path", "ca.crt"}},
                                    {{"key", who + ".crt"}, {"path", "tls.crt"}},
                                    {{"key", who + ".key"}, {"path", "tls.key"}}});
    return {{"name", "credentials"},
            {"secret",
             {{"secretName", name_ + "-credentials"}, {"defaultMode", 0440}, {"items", items}}}};
  }
  static Json keys_mount() {
    return {{"name", "credentials"}, {"mountPath", kCredentials}, {"readOnly", true}};
  }
  static Json probe(const std::string& path, const std::string& port, int period, int failures) {
    return {{"httpGet", {{"path", path}, {"port", port}}},
            {"periodSeconds", period},
            {"timeoutSeconds", 3},
            {"failureThreshold", failures}};
  }
  static Json variable(const std::string& name, const std::string& field) {
    return {{"name", name}, {"valueFrom", {{"fieldRef", {{"fieldPath", field}}}}}};
  }

  // Texts of users, in which Kubernetes would replace $(VARIABLES).
  static std::string literal(const std::string& text) {
    std::string result;
    for (const char c : text) result.append(c == '$' ? 2 : 1, c);
    return result;
  }

  std::vector<std::string> command(const std::string& role) const {
    const bool program = launch_.own_program;
    std::vector<std::string> words = {
        "trireme", "role", role, program ? literal(launch_.job) : std::string(kWork) + "/job.toml"};
    if (program) words.emplace_back("--program");
    const auto add = [&words](const std::string& option, const std::string& value) {
      if (!value.empty()) words.insert(words.end(), {option, value});
    };
    add("--name", "$(POD_NAME)");
    words.push_back("--fresh-name");
    // Surplus servers are removed by their numbers, so their data must be, too.
    if (role == "server") words.push_back("--own-place");
    add("--job-name", name_);
    add("--etcd", name_ + "-etcd:2379");
    add("--etcd-credentials", kCredentials);
    add("--credentials", kCredentials);
    add("--prefix", fmt::format("trireme/{}/{}/", name_, id_));
    add("--bind", "$(POD_IP)");
    add("--metrics-port", std::to_string(options_.metrics_port));
    add("--trainers", std::to_string(launch_.trainers));
    add("--servers", std::to_string(launch_.servers));
    add("--threads", std::to_string(launch_.threads));
    for (const std::string& setting : launch_.set) add("--set", literal(setting));
    add("--output", literal(launch_.output));
    // A pod that is evicted ends in order, but this is no success of the Job; neither is a stopped
    // job.
    if (role != "server") words.emplace_back("--until-done");
    if (program && role == "trainer") {
      words.emplace_back("--");
      for (const std::string& word : launch_.arguments) words.push_back(literal(word));
    }
    return words;
  }

  // A process of the job.
  Json process(const std::string& role) const {
    constexpr int kPeriod = 2;
    Json mounts = Json::array({{{"name", "files"}, {"mountPath", kWork}},
                               keys_mount(),
                               {{"name", "tmp"}, {"mountPath", "/tmp"}}});
    if (!launch_.own_program) {
      mounts.push_back({{"name", "job"},
                        {"mountPath", std::string(kWork) + "/job.toml"},
                        {"subPath", "job.toml"},
                        {"readOnly", true}});
    }
    return {
        {"name", role},
        {"image", options_.image},
        {"command", command(role)},
        {"workingDir", kWork},
        {"env", Json::array({variable("POD_NAME", "metadata.name"),
                             variable("POD_IP", "status.podIP"),
                             {{"name", "HOME"}, {"value", "/tmp"}},
                             {{"name", "TRIREME_CACHE_DIR"}, {"value", "/tmp/cache"}}})},
        {"ports", Json::array({{{"name", "metrics"}, {"containerPort", options_.metrics_port}}})},
        {"startupProbe", probe("/healthz", "metrics", kPeriod,
                               (launch_.own_program ? kStartOfProgram : kStart) / kPeriod)},
        {"livenessProbe", probe("/healthz", "metrics", 10, 6)},
        {"readinessProbe", probe("/readyz", "metrics", 5, 2)},
        {"resources", resources(options_.cpu, options_.memory)},
        {"securityContext", locked()},
        {"volumeMounts", mounts}};
  }
  Json process_volumes(const std::string& role) const {
    const std::string claim = options_.claim.empty() ? name_ + "-files" : options_.claim;
    Json volumes =
        Json::array({{{"name", "files"}, {"persistentVolumeClaim", {{"claimName", claim}}}},
                     keys_volume(role),
                     {{"name", "tmp"}, {"emptyDir", {{"sizeLimit", "4Gi"}}}}});
    if (!launch_.own_program) {
      volumes.push_back({{"name", "job"}, {"configMap", {{"name", name_ + "-job"}}}});
    }
    return volumes;
  }

  // The pods of this set, and its service.
  Json stateful_set(const std::string& component, int replicas, const Json& pod) const {
    Json made = head_of("apps/v1", "StatefulSet", component, component);
    made["spec"] = {{"serviceName", name_ + "-" + component},
                    {"replicas", replicas},
                    {"podManagementPolicy", "Parallel"},
                    {"selector", {{"matchLabels", selector(component)}}},
                    {"template", pod}};
    return made;
  }

  // One member, which requires the certificates of the job, as its processes do.
  Json etcd() const {
    const std::string keys = kCredentials;
    const Json container = {
        {"name", "etcd"},
        {"image", options_.etcd_image},
        {"command",
         {"/usr/local/bin/etcd", "--name=etcd", "--data-dir=/data/etcd",
          "--listen-client-urls=https://0.0.0.0:2379",
          "--advertise-client-urls=https://" + name_ + "-etcd:2379",
          "--listen-peer-urls=http://127.0.0.1:2380",
          "--initial-advertise-peer-urls=http://127.0.0.1:2380",
          "--initial-cluster=etcd=http://127.0.0.1:2380", "--client-cert-auth",
          "--trusted-ca-file=" + keys + "/ca.crt", "--cert-file=" + keys + "/tls.crt",
          "--key-file=" + keys + "/tls.key", "--listen-metrics-urls=http://0.0.0.0:2381",
          "--auto-compaction-mode=revision", "--auto-compaction-retention=10000"}},
        {"ports", Json::array({{{"name", "client"}, {"containerPort", 2379}},
                               {{"name", "health"}, {"containerPort", 2381}}})},
        {"startupProbe", probe("/health", "health", 2, 60)},
        {"livenessProbe", probe("/health", "health", 10, 6)},
        {"readinessProbe", probe("/health", "health", 5, 2)},
        {"resources", resources("500m", "512Mi")},
        {"securityContext", locked()},
        {"volumeMounts", Json::array({keys_mount(), {{"name", "data"}, {"mountPath", "/data"}}})}};
    Json made = stateful_set("etcd", 1, pod("etcd", container, Json::array({keys_volume("tls")})));
    made["spec"]["volumeClaimTemplates"] =
        Json::array({{{"metadata", {{"name", "data"}}},
                      {"spec",
                       {{"accessModes", {"ReadWriteOnce"}},
                        {"resources", {{"requests", {{"storage", "2Gi"}}}}}}}}});
    made["spec"]["persistentVolumeClaimRetentionPolicy"] = {{"whenDeleted", "Delete"},
                                                            {"whenScaled", "Retain"}};
    return made;
  }

  Json servers() const {
    return stateful_set("servers", launch_.servers,
                        pod("servers", process("server"), process_volumes("server")));
  }

  // Failed pods are replaced, evicted ones without counting; a mistake in the job ends it.
  Json job(const std::string& component, int completions) const {
    const std::string role = component == "master" ? "master" : "trainer";
    Json made = head_of("batch/v1", "Job", component, component);
    Json rules = Json::array();
    rules.push_back(
        {{"action", "FailJob"},
         {"onExitCodes",
          {{"containerName", role}, {"operator", "In"}, {"values", {2, 3, kJobStoppedCode}}}}});
    rules.push_back(
        {{"action", "Ignore"},
         {"onPodConditions", Json::array({{{"type", "DisruptionTarget"}, {"status", "True"}}})}});
    Json template_ = pod(component, process(role), process_volumes(role));
    template_["spec"]["restartPolicy"] = "Never";
    if (role == "master") template_["spec"]["topologySpreadConstraints"] = spread(component);
    made["spec"] = {{"completionMode", "Indexed"},
                    {"completions", completions},
                    {"parallelism", completions},
                    {"backoffLimit", launch_.restarts},
                    {"podFailurePolicy", {{"rules", rules}}},
                    {"template", template_}};
    return made;
  }

  // On different nodes if possible, so that a leader remains when a node fails.
  Json spread(const std::string& component) const {
    return Json::array({{{"maxSkew", 1},
                         {"topologyKey", "kubernetes.io/hostname"},
                         {"whenUnsatisfiable", "ScheduleAnyway"},
                         {"labelSelector", {{"matchLabels", selector(component)}}}}});
  }

  const LaunchOptions& launch_;
  const KubernetesOptions& options_;
  const std::string name_;
  const int masters_;
  std::string id_;
};

}  // namespace

std::string kubernetes_manifests(const LaunchOptions& launch, const KubernetesOptions& options) {
  return Manifests(launch, options).text();
}

}  // namespace trireme::distributed
