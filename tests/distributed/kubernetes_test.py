#!/usr/bin/env python3
"""`trireme launch --kubernetes`: manifests against the schemas that Kubernetes publishes, what
belongs together in them, and their commands as processes of this machine, with a real etcd.

    tests/distributed/kubernetes_test.py TRIREME SOURCES [PROGRAM]

PROGRAM: tests/distributed/program as it was built; without it, it is not run as a pod. Exits with
77 where the package kubernetes-validate (tools/python-env.sh kubernetes_validate) or etcd is
missing. """

import copy
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

TRIREME, SOURCES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
PROGRAM = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else None
VENV = os.path.join(SOURCES, "build/venv/bin/python")
try:
    import kubernetes_validate
    import yaml
except ImportError:
    if os.path.exists(VENV) and os.environ.get("TRIREME_IN_VENV") is None:
        os.environ["TRIREME_IN_VENV"] = "1"
        os.execv(VENV, [VENV] + sys.argv)
    print("skipped: no kubernetes-validate (tools/python-env.sh kubernetes_validate)")
    sys.exit(77)

VERSIONS = ["1.31", "1.34"]  # of Kubernetes
with open(os.path.join(SOURCES, "tests/distributed/clicks.toml.in"), encoding="utf-8") as template:
    TEMPLATE = template.read().replace("@EXAMPLES@", "8000").replace("@EPOCHS@", "1")
JOB = TEMPLATE.replace("@MODE@", "all_reduce")
JOB_OF_SERVERS = TEMPLATE.replace("@MODE@", "asynchronous")
ENDLESS_JOB = JOB_OF_SERVERS.replace("8000", "1000000")  # far more than a test has time for


def trireme(*arguments, code=0):
    done = subprocess.run([TRIREME, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stdout if code == 0 else done.stderr


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for_handler(pid):
    """Until the process has something to do at SIGTERM."""
    end = time.time() + 30
    while time.time() < end:
        with open(f"/proc/{pid}/status") as f:
            caught = re.search(r"^SigCgt:\s*([0-9a-f]+)", f.read(), re.M)
        if caught and int(caught[1], 16) >> 14 & 1:
            return
        time.sleep(0.05)
    raise AssertionError(f"{pid} does not handle SIGTERM")


def of_kind(parts, kind):
    return {part["metadata"]["name"]: part for part in parts if part["kind"] == kind}


class Manifests(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="trireme_k8s_")
        self.job = os.path.join(self.folder, "clicks.toml")
        self.servers = os.path.join(self.folder, "by-servers.toml")
        with open(self.job, "w") as f:
            f.write(JOB)
        with open(self.servers, "w") as f:
            f.write(JOB_OF_SERVERS)

    def tearDown(self):
        shutil.rmtree(self.folder)

    def print_job(self, *arguments):
        text = trireme("launch", "--kubernetes", *arguments)
        return text, list(yaml.safe_load_all(text))

    def forms(self):
        yield self.print_job("--trainers", "4", "--servers", "2", self.servers)
        yield self.print_job("--trainers", "3", "--servers", "1", "--image", "r.example/mine:1",
                             "--program", "/opt/mine/clicks", "--", "--rows", "5000", "", "$(POD_IP)")
        yield self.print_job("--trainers", "3", "--claim", "shared", "--image", "r.example/t:1",
                             "--set", "train.epochs=2", "-o", "on", self.job)

    def test_schemas(self):
        for _, parts in self.forms():
            for part in parts:
                for version in VERSIONS:
                    kubernetes_validate.validate(part, version, strict=True)
        # That the schemas would notice.
        wrong = copy.deepcopy(of_kind(parts, "Job")["clicks-trainers"])
        wrong["spec"]["template"]["spec"]["securityContext"]["runAsNonroot"] = True
        with self.assertRaises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(wrong, VERSIONS[0], strict=True)
        wrong = copy.deepcopy(parts[0])
        wrong["metadata"]["labels"]["app.kubernetes.io/name"] = 1
        with self.assertRaises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(wrong, VERSIONS[0], strict=True)

    def pods(self, parts):
        for part in parts:
            if part["kind"] in ("StatefulSet", "Job"):
                yield part, part["spec"]["template"]

    def test_what_belongs_together(self):
        for _, parts in self.forms():
            services = of_kind(parts, "Service")
            claims = set(of_kind(parts, "PersistentVolumeClaim")) | {"shared"}
            pods = list(self.pods(parts))
            for service in services.values():
                chosen = [pod for _, pod in pods if service["spec"]["selector"].items()
                          <= pod["metadata"]["labels"].items()]
                self.assertEqual(len(chosen), 1, service)
                names = {p["name"] for p in chosen[0]["spec"]["containers"][0]["ports"]}
                for port in service["spec"]["ports"]:
                    self.assertIn(port["targetPort"], names)
            for owner, pod in pods:
                spec, container = pod["spec"], pod["spec"]["containers"][0]
                volumes = {volume["name"] for volume in spec["volumes"]}
                for template in owner["spec"].get("volumeClaimTemplates", []):
                    volumes.add(template["metadata"]["name"])
                self.assertEqual({m["name"] for m in container["volumeMounts"]}, volumes)
                for volume in spec["volumes"]:
                    if "persistentVolumeClaim" in volume:
                        self.assertIn(volume["persistentVolumeClaim"]["claimName"], claims)
                    if "configMap" in volume:
                        self.assertIn(volume["configMap"]["name"], of_kind(parts, "ConfigMap"))
                if owner["kind"] == "StatefulSet":
                    self.assertIn(owner["spec"]["serviceName"], services)
                    self.assertLessEqual(owner["spec"]["selector"]["matchLabels"].items(),
                                         pod["metadata"]["labels"].items())
                # Little is allowed.
                self.assertTrue(spec["securityContext"]["runAsNonRoot"])
                self.assertTrue(container["securityContext"]["readOnlyRootFilesystem"])
                self.assertFalse(container["securityContext"]["allowPrivilegeEscalation"])
                self.assertFalse(spec["automountServiceAccountToken"])
                self.assertGreaterEqual(spec["terminationGracePeriodSeconds"], 30)
                self.assertIn("cpu", container["resources"]["requests"])
                ports = {port["name"] for port in container["ports"]}
                for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                    self.assertIn(container[probe]["httpGet"]["port"], ports)

    def test_what_was_asked_for(self):
        text, parts = self.print_job("--trainers", "4", "--servers", "2", "--name", "run-2",
                                     "--id", "7", "--metrics-port", "9999", self.servers)
        jobs, sets = of_kind(parts, "Job"), of_kind(parts, "StatefulSet")
        self.assertEqual(jobs["run-2-trainers"]["spec"]["completions"], 4)
        self.assertEqual(jobs["run-2-trainers"]["spec"]["completionMode"], "Indexed")
        self.assertEqual(sets["run-2-servers"]["spec"]["replicas"], 2)
        with open(self.servers) as f:
            self.assertEqual(of_kind(parts, "ConfigMap")["run-2-job"]["data"]["job.toml"], f.read())
        container = jobs["run-2-trainers"]["spec"]["template"]["spec"]["containers"][0]
        self.assertEqual(container["livenessProbe"]["httpGet"]["path"], "/healthz")
        self.assertEqual(container["readinessProbe"]["httpGet"]["path"], "/readyz")
        self.assertEqual(container["ports"][0]["containerPort"], 9999)
        self.assertIn("trireme/run-2/7/", container["command"])
        self.assertFalse(of_kind(parts, "Secret"))
        self.assertIn("kubectl create secret generic run-2-credentials --from-file=keys", text)
        _, parts = self.print_job("--trainers", "3", self.job)
        self.assertNotIn("clicks-servers", of_kind(parts, "StatefulSet"))

    def test_program(self):
        text, parts = self.print_job("--trainers", "2", "--image", "r.example/mine:1", "--program",
                                     "./clicks", "--", "--name", "$(HOME)")
        self.assertIn("# The image r.example/mine:1 has the program ./clicks, and `trireme`", text)
        self.assertFalse(of_kind(parts, "ConfigMap"))
        jobs = of_kind(parts, "Job")
        for name, pod in ((name, job["spec"]["template"]["spec"]) for name, job in jobs.items()):
            container = pod["containers"][0]
            self.assertEqual(container["image"], "r.example/mine:1")
            self.assertEqual(container["command"][:2], ["trireme", "role"])
            self.assertEqual(container["command"][3:5], ["./clicks", "--program"])
            arguments = ["--", "--name", "$$(HOME)"] if name == "clicks-trainers" else []
            self.assertEqual(container["command"][container["command"].index("--until-done") + 1:],
                             arguments)

    def test_secret(self):
        keys = os.path.join(self.folder, "keys")
        trireme("credentials", keys)
        _, parts = self.print_job("--trainers", "1", "--credentials", keys, self.job)
        secret = of_kind(parts, "Secret")["clicks-credentials"]
        for version in VERSIONS:
            kubernetes_validate.validate(secret, version, strict=True)
        for name in ("ca.crt", "tls.crt", "tls.key", "master.key", "server.crt", "trainer.key"):
            with open(os.path.join(keys, name)) as f:
                self.assertEqual(secret["stringData"][name], f.read())
        # A pod has the key of its role only.
        trainer = of_kind(parts, "Job")["clicks-trainers"]["spec"]["template"]["spec"]
        volume = [v for v in trainer["volumes"] if v["name"] == "credentials"][0]
        self.assertEqual(volume["secret"]["items"],
                         [{"key": "ca.crt", "path": "ca.crt"},
                          {"key": "trainer.crt", "path": "tls.crt"},
                          {"key": "trainer.key", "path": "tls.key"}])

    def test_mistakes(self):
        upper = os.path.join(self.folder, "Clicks_1.toml")
        shutil.copy(self.job, upper)
        self.assertIn("--name", trireme("launch", "--kubernetes", upper, code=2))
        self.assertIn("a job needs some: --servers 2",
                      trireme("launch", "--kubernetes", self.servers, code=2))
        self.assertIn("1024 to 65535", trireme("launch", "--kubernetes", "--metrics-port", "80",
                                               self.job, code=2))
        self.assertIn("follow --", trireme("launch", "--kubernetes", "--set", "train.epochs=2",
                                           "--program", "/opt/clicks", code=2))
        self.assertIn("--name", trireme("launch", "--kubernetes", "--program", "/opt/a_b", code=2))


class Cluster:
    """What a kubelet would do with the pods, for lack of one: their commands on this machine, each
    once."""

    def __init__(self, folder, parts, keys):
        self.folder, self.parts, self.keys = folder, parts, keys
        self.client, self.health = free_port(), free_port()
        self.peer = free_port()
        self.running, self.metrics = {}, {}

    def local(self, word, variables):
        # Kubernetes leaves alone what it does not know; $$ is $.
        word = re.sub(r"\$(\$|\((\w+)\))", lambda found: "$" if found[1] == "$"
                      else variables.get(found[2], found[0]), word)
        for there, here in (("/usr/local/bin/etcd", "/usr/bin/etcd"), ("/credentials", self.keys),
                            ("/data/", self.folder + "/"), ("/work/", self.folder + "/"),
                            ("0.0.0.0:2379", f"127.0.0.1:{self.client}"),
                            ("0.0.0.0:2381", f"127.0.0.1:{self.health}"),
                            ("127.0.0.1:2380", f"127.0.0.1:{self.peer}"),
                            ("/opt/mine/own_program", PROGRAM or "")):
            word = word.replace(there, here)
        return re.sub(r"[a-z0-9-]+-etcd:2379", f"127.0.0.1:{self.client}", word)

    def start(self, name, pod, number, prefix=None):
        container = pod["spec"]["containers"][0]
        variables = {"POD_NAME": f"{name}-{number}", "POD_IP": "127.0.0.1"}
        words = [self.local(word, variables) for word in container["command"]]
        if words[0] == "trireme":
            words[0] = TRIREME
            at = words.index("--metrics-port")
            words[at + 1] = str(free_port())
            self.metrics[f"{name}-{number}"] = words[at + 1]
        if prefix:
            words[words.index("--prefix") + 1] = prefix
        log = open(os.path.join(self.folder, f"{name}-{number}.log"), "w+")
        environment = dict(os.environ)
        self.running[f"{name}-{number}"] = subprocess.Popen(
            words, cwd=self.folder, stdout=log, stderr=subprocess.STDOUT, env=environment), log

    def start_all(self):
        for part in self.parts:
            if part["kind"] in ("StatefulSet", "Job"):
                spec = part["spec"]
                for i in range(spec.get("replicas", spec.get("completions"))):
                    self.start(part["metadata"]["name"], spec["template"], i)

    def job(self, *words):
        """`trireme job` in any pod, or wherever etcd is reached."""
        done = subprocess.run([TRIREME, "job", *words, "--etcd", f"127.0.0.1:{self.client}",
                               "--etcd-credentials", self.keys],
                              capture_output=True, text=True, timeout=200)
        return done.returncode, done.stdout + done.stderr

    def wait_for(self, fits):
        """The first status that fits."""
        end = time.time() + 90
        while True:
            code, text = self.job("status", "clicks", "--json")
            status = json.loads(text) if code == 0 else {}
            if code == 0 and fits(status):
                return status
            if time.time() > end:
                raise AssertionError((text, {name: self.log(name) for name in self.running}))
            time.sleep(0.1)

    def log(self, name):
        log = self.running[name][1]
        log.flush()
        log.seek(0)
        return log.read()

    def stop(self):
        """What those say that are asked to end, etcd after all others."""
        codes = {}
        for name in sorted(self.running, key=lambda name: "-etcd-" in name):
            process, log = self.running[name]
            log.close()
            process.terminate()
            try:
                codes[name] = process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                codes[name] = process.wait()
        return codes


def child_of(pid):
    end = time.time() + 30
    while time.time() < end:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            children = f.read().split()
        if children:
            return int(children[0])
        time.sleep(0.05)
    raise AssertionError(f"{pid} has started nothing")


@unittest.skipUnless(os.path.exists("/usr/bin/etcd"),
                     "etcd is not installed (tools/install-deps.sh --test)")
class AsProcesses(unittest.TestCase):
    """The manifests' commands do the job, with mutual TLS to a real etcd and among themselves."""

    def finish(self, cluster):
        """What each has said when trainers and master have ended well."""
        codes = {}
        for name in ("clicks-trainers-0", "clicks-trainers-1", "clicks-master-0", "clicks-master-1"):
            codes[name] = cluster.running[name][0].wait(120)
        logs = {name: cluster.log(name) for name in cluster.running}
        self.assertEqual(set(codes.values()), {0}, logs)
        return logs

    def check_health(self, cluster, name):
        """What probes ask."""
        for page in ("healthz", "readyz"):
            health = f"http://127.0.0.1:{cluster.metrics[name]}/{page}"
            with urllib.request.urlopen(health, timeout=10) as answer:
                self.assertEqual(answer.status, 200)

    def wait_for_health(self, cluster, name):
        end = time.time() + 60
        while True:
            try:
                return self.check_health(cluster, name)
            except OSError:
                if time.time() > end:
                    raise AssertionError(cluster.log(name))
                time.sleep(0.05)

    @unittest.skipUnless(PROGRAM, "no PROGRAM was given")
    def test_program(self):
        with tempfile.TemporaryDirectory(prefix="trireme_k8s_") as folder:
            keys = os.path.join(folder, "keys")
            trireme("credentials", keys)
            parts = list(yaml.safe_load_all(trireme(
                "launch", "--kubernetes", "--name", "clicks", "--trainers", "2", "--servers", "1",
                "--program", "/opt/mine/own_program", "--", "asynchronous", "$(POD_NAME)")))
            cluster = Cluster(folder, parts, keys)
            cluster.start_all()
            try:
                logs = self.finish(cluster)
                said = [line for log in logs.values() for line in log.splitlines()]
                steps = [int(line.split()[-1]) for line in said if line.startswith("own steps: ")]
                self.assertEqual((len(steps), sum(steps)), (2, 240), logs)
                self.assertEqual(sum("chief of 2, loss: " in line for line in said), 1, logs)
                self.assertTrue(os.path.exists(os.path.join(folder, "own", "program.txt")))
                self.check_health(cluster, "clicks-servers-0")
                # One that is evicted before the work is done has not done it, though it leaves in
                # good order.
                pod = of_kind(parts, "Job")["clicks-trainers"]["spec"]["template"]
                cluster.start("clicks-trainers", pod, 7, prefix="trireme/another/")
                process = cluster.running["clicks-trainers-7"][0]
                wait_for_handler(child_of(process.pid))
                self.wait_for_health(cluster, "clicks-trainers-7")
                process.terminate()
                self.assertEqual(process.wait(60), 6, cluster.log("clicks-trainers-7"))
                # And one that cannot begin is wrong for all.
                wrong = copy.deepcopy(pod)
                command = wrong["spec"]["containers"][0]["command"]
                command[command.index("asynchronous")] = "all_reduce"
                cluster.start("clicks-trainers", wrong, 8, prefix="trireme/wrong/")
                self.assertEqual(cluster.running["clicks-trainers-8"][0].wait(60), 2)
                self.assertIn("leave --servers out", cluster.log("clicks-trainers-8"))
                self.assertIn("before it trained", cluster.log("clicks-trainers-8"))
                # One whose job is stopped does not come again, whatever the program makes of it.
                cluster.start("clicks-trainers", pod, 9, prefix="trireme/stopped/")
                self.wait_for_health(cluster, "clicks-trainers-9")
                process = cluster.running["clicks-trainers-9"][0]
                wait_for_handler(child_of(process.pid))
                self.assertEqual(cluster.job("stop", "--now", "--prefix", "trireme/stopped/")[0], 0)
                self.assertEqual(process.wait(60), 7, cluster.log("clicks-trainers-9"))
            finally:
                cluster.stop()

    def test_run(self):
        with tempfile.TemporaryDirectory(prefix="trireme_k8s_") as folder:
            keys = os.path.join(folder, "keys")
            trireme("credentials", keys)
            with open(os.path.join(folder, "job.toml"), "w") as f:
                f.write(JOB_OF_SERVERS)
            parts = list(yaml.safe_load_all(trireme(
                "launch", "--kubernetes", "--name", "clicks", "--trainers", "2", "--servers", "1",
                os.path.join(folder, "job.toml"))))
            cluster = Cluster(folder, parts, keys)
            cluster.start_all()
            try:
                self.finish(cluster)
                self.check_health(cluster, "clicks-servers-0")
                # Those that are evicted before the work is done do not count as done.
                for component, codes in (("master", [6]), ("trainers", [4, 6])):
                    pod = of_kind(parts, "Job")["clicks-" + component]["spec"]["template"]
                    cluster.start("clicks-" + component, pod, 7, prefix="trireme/another/")
                    process = cluster.running[f"clicks-{component}-7"][0]
                    wait_for_handler(process.pid)
                    process.terminate()
                    self.assertIn(process.wait(30), codes, component)
            finally:
                ended = cluster.stop()
            self.assertEqual(ended["clicks-servers-0"], 0, "a server ends in good order when it is asked to")

    def test_watched_and_steered(self):
        """By its etcd, as from any pod: a leader dies, servers come and go, and the job is
        stopped."""
        with tempfile.TemporaryDirectory(prefix="trireme_k8s_") as folder:
            keys = os.path.join(folder, "keys")
            trireme("credentials", keys)
            with open(os.path.join(folder, "job.toml"), "w") as f:
                f.write(ENDLESS_JOB)
            parts = list(yaml.safe_load_all(trireme(
                "launch", "--kubernetes", "--name", "clicks", "--id", "7", "--trainers", "2",
                "--servers", "1", os.path.join(folder, "job.toml"))))
            cluster = Cluster(folder, parts, keys)
            cluster.start_all()
            try:
                self.steer(cluster, parts)
            finally:
                cluster.stop()

    def steer(self, cluster, parts):
        def done(status):
            return status.get("tasks", {}).get("done", 0)

        def roles(status):
            return [process["role"] for process in status["processes"]]

        status = cluster.wait_for(lambda now: done(now) > 0 and roles(now).count("master") == 2)
        self.assertEqual(status["wanted"], {"trainers": 2, "servers": 1})
        self.assertEqual(status["limits"], {"min": 1, "max": 4096})
        leader = status["tasks"]["leader"]
        self.assertRegex(leader, r"^clicks-master-[01]\.[0-9a-f]{8}$")
        cluster.running[leader.split(".")[0]][0].kill()
        status = cluster.wait_for(lambda now: now.get("tasks", {}).get("leader", leader) != leader)
        cluster.wait_for(lambda now: done(now) > done(status))
        # As kubectl scale does, which puts the server with the highest number there or takes it
        # away.
        code, said = cluster.job("scale", "clicks", "--servers", "2")
        self.assertIn("kubectl scale statefulset clicks-servers --replicas=2", said)
        pod = of_kind(parts, "StatefulSet")["clicks-servers"]["spec"]["template"]
        cluster.start("clicks-servers", pod, 1)
        status = cluster.wait_for(lambda now: now.get("servers", {}).get("servers") == 2)
        places = {p["name"].split(".")[0]: p["place"] for p in status["processes"] if "place" in p}
        self.assertEqual(places, {"clicks-servers-0": 0, "clicks-servers-1": 1})
        code, said = cluster.job("scale", "clicks", "--servers", "1")
        self.assertIn("kubectl scale statefulset clicks-servers --replicas=1", said)
        cluster.wait_for(lambda now: now["servers"]["servers"] == 1)
        server = cluster.running["clicks-servers-1"][0]
        server.terminate()
        self.assertEqual(server.wait(30), 0)
        status = cluster.wait_for(lambda now: roles(now).count("server") == 1)
        status = cluster.wait_for(lambda now: done(now) > done(status))
        self.assertEqual(status["servers"]["rollbacks"], 1, "that it began, and no more")
        code, said = cluster.job("scale", "clicks", "--trainers", "3")
        self.assertEqual(code, 0, said)
        self.assertIn("kubectl patch job clicks-trainers --type=merge -p "
                      "'{\"spec\":{\"parallelism\":3,\"completions\":3}}'", said)

        code, said = cluster.job("stop", "clicks", "--id", "7")
        self.assertEqual(code, 0, said)
        self.assertIn("checkpoint 1 was written: epoch 1 with ", said)
        self.assertIn("kubectl delete job clicks-trainers clicks-master", said)
        other = "clicks-master-1" if leader.startswith("clicks-master-0") else "clicks-master-0"
        for name in ("clicks-trainers-0", "clicks-trainers-1", other):
            self.assertEqual(cluster.running[name][0].wait(60), 7, cluster.log(name))
        self.check_health(cluster, "clicks-servers-0")
        self.assertRegex(cluster.job("list")[1], r"clicks +7 +stopped ")
        # The Jobs must fail with that code; pods that start all the same end, too.
        for component in ("trainers", "master"):
            job = of_kind(parts, "Job")["clicks-" + component]["spec"]
            rule = job["podFailurePolicy"]["rules"][0]
            self.assertEqual((rule["action"], rule["onExitCodes"]["values"]), ("FailJob", [2, 3, 7]))
            cluster.start("clicks-" + component, job["template"], 9)
            process = cluster.running[f"clicks-{component}-9"][0]
            self.assertEqual(process.wait(60), 7, cluster.log(f"clicks-{component}-9"))
        self.assertIn("the job was over before", cluster.job("stop", "clicks")[1])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
