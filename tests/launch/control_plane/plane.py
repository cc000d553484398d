"""A control plane on this machine's loopback address: the API server, its controllers, and those that we install.

Nothing of it is a stand-in but the machines: a Node is an object that says what a machine of the catalog has, and no
kubelet answers for it. So pods are made, admitted and bound, and none of them runs. The projects' own webhooks judge:
their Service leads to this host by name, and their certificates are handed over as a kubelet would mount them.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml
from control_plane import build

Object = dict[str, Any]
CONTROLLERS = (
    "job-controller",
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "disruption-controller",
    "serviceaccount-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "persistentvolume-binder-controller",
)
DEFINITIONS = {  # module: (version, folder of its definitions)
    "github.com/ray-project/kuberay/ray-operator": (build.PROGRAMS["kuberay"].version, "config/crd/bases"),
    "github.com/kedacore/keda/v2": (build.pinned("keda"), "config/crd/bases"),
    "github.com/kserve/kserve": (build.KSERVE, "config/crd/full"),
    "github.com/GoogleCloudPlatform/gke-networking-api": (build.GKE_NETWORKING, "config/crds"),
    "k8s.io/autoscaler/cluster-autoscaler/apis": (build.AUTOSCALER, "config/crd"),
}
INSTALLED = {  # operator: feature gates that need a service of the API server's beyond it
    "kueue": {"VisibilityOnDemand": False},
    "jobset": {},
    "lws": {},
}


def absent() -> str:
    """What keeps a control plane from starting here, in one line; "" where nothing does."""
    missing = [name for name in ("go", "etcd", "openssl", "unshare", "setpriv") if shutil.which(name) is None]
    if missing:
        return f"no control plane judges: {', '.join(missing)} not installed (etcd: Debian's etcd-server)"
    alone = subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False)
    return "" if alone.returncode == 0 else "no control plane judges: unshare -rm is not allowed here"


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


def until(holds: Callable[[], Any], what: str, seconds: float = 60, why: Callable[[], str] = str) -> Any:
    """The first true value of `holds`; AssertionError with `why` after so many seconds."""
    end = time.monotonic() + seconds
    while True:
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            if value := holds():
                return value
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {seconds:g} s\n{why()}")
        time.sleep(0.2)


class Plane:
    """etcd, the API server and its controllers; every process ends with `stop`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.processes, self.threads = folder, dict[str, subprocess.Popen[bytes]](), list[Any]()
        self.stopped = threading.Event()
        self.url = f"https://127.0.0.1:{free_port()}"
        self.context = ssl._create_unverified_context()  # noqa: S323  (loopback, a certificate of a minute ago)
        self.kubeconfig = folder / "kubeconfig"
        self.programs = {name: build.built(name) for name in build.PROGRAMS if not build.PROGRAMS[name].source}
        cluster = {"server": self.url, "insecure-skip-tls-verify": True}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "here", "cluster": cluster}],
            "users": [{"name": "admin", "user": {"token": "admin"}}],
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": "admin", "namespace": "default"}}],
            "current-context": "here",
        }
        self.kubeconfig.write_text(yaml.safe_dump(config))

    def start(self) -> None:
        client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self.run(
            "etcd",
            [
                "etcd",
                "--data-dir",
                str(self.folder / "etcd"),
                "--listen-client-urls",
                client,
                "--advertise-client-urls",
                client,
                "--listen-peer-urls",
                peer,
            ],
        )
        key = self.folder / "accounts.key"
        subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
        tokens = self.folder / "tokens.csv"
        tokens.write_text('admin,admin,1,"system:masters"\n')
        port = self.url.rpartition(":")[2]
        flags = {
            "etcd-servers": client,
            "bind-address": "127.0.0.1",
            "secure-port": port,
            "cert-dir": self.folder / "certificates",
            "token-auth-file": tokens,
            "authorization-mode": "RBAC",
            "service-account-issuer": "https://here.test",
            "service-account-key-file": key,
            "service-account-signing-key-file": key,
            "service-cluster-ip-range": "10.96.0.0/16",
            "allow-privileged": "true",
            "disable-admission-plugins": "TaintNodesByCondition",  # what takes that taint away again is a kubelet
        }
        self.run("kube-apiserver", [self.programs["kube-apiserver"], *_words(flags)])
        until(lambda: self.ask("/readyz", text=True) == "ok", "the API server", 120, self.logs)
        flags = {
            "kubeconfig": self.kubeconfig,
            "controllers": ",".join(CONTROLLERS),
            "service-account-private-key-file": key,
            "secure-port": free_port(),
            "bind-address": "127.0.0.1",
            "leader-elect": "false",
            "kube-api-qps": "200",
            "kube-api-burst": "400",
        }
        self.run("controller-manager", [self.programs["kube-controller-manager"], *_words(flags)])
        flags = {"kubeconfig": self.kubeconfig, "secure-port": free_port(), "leader-elect": "false"}
        flags["bind-address"] = "127.0.0.1"
        self.run("scheduler", [self.programs["kube-scheduler"], *_words(flags)])
        for module, (version, folder) in DEFINITIONS.items():
            for path in sorted((build.sources(module, version) / folder).glob("*.yaml")):
                for one in yaml.safe_load_all(path.read_text()):
                    if one and one["kind"] == "CustomResourceDefinition":
                        self.apply(one)
        for group in build.CHECKED_OUT:
            if build.checked_out(group).exists():
                for one in yaml.safe_load_all(build.checked_out(group).read_text()):
                    assert self.apply(one) == "", group
        for operator, gates in INSTALLED.items():
            self._install(operator, gates)
        self._install_kserve()
        health = free_port()
        self.run(
            "kuberay",
            [
                self.programs["kuberay"],
                "--metrics-addr",
                "0",
                "--enable-leader-election=false",
                "--health-probe-bind-address",
                f"127.0.0.1:{health}",
            ],
        )
        ours = {"kind": "ConfigMap", "apiVersion": "v1", "data": {"a": "b"}}
        ours["metadata"] = {"name": "probe", "namespace": "default"}
        self.apply(ours)

    def stop(self) -> None:
        self.stopped.set()
        for process in reversed(self.processes.values()):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)

    def run(self, name: str, line: list[Any], **env: str) -> None:
        with (self.folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *map(str, line)],  # a killed test leaves nothing behind
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env={**os.environ, "KUBECONFIG": str(self.kubeconfig), **env},
                start_new_session=True,
            )

    def logs(self) -> str:
        """The ends of all logs, those of ended processes first."""
        names = sorted(self.processes, key=lambda name: self.processes[name].poll() is None)
        ended = {name: self.processes[name].poll() for name in names}
        return "\n".join(
            f"-- {name} (exit status {ended[name]})\n{(self.folder / f'{name}.log').read_text()[-1500:]}"
            for name in names
        )

    def ask(self, path: str, *, method: str = "GET", body: Any = None, kind: str = "", text: bool = False) -> Any:
        """One request; an object, or text where it is asked for."""
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.url + path, data=data, method=method)  # noqa: S310  (loopback)
        request.add_header("Authorization", "Bearer admin")
        if data is not None:
            request.add_header("Content-Type", kind or "application/json")
        with urllib.request.urlopen(request, context=self.context, timeout=60) as said:  # noqa: S310
            content = said.read().decode()
        return content if text else json.loads(content)

    def path(self, manifest: Object) -> str:
        """The address of an object by its kind, as the server itself lists it."""
        version = manifest["apiVersion"]
        base = f"/api/{version}" if "/" not in version else f"/apis/{version}"
        known = {item["kind"]: item for item in self.ask(base)["resources"] if "/" not in item["name"]}
        resource = known[manifest["kind"]]
        space = f"/namespaces/{manifest['metadata'].get('namespace', 'default')}" if resource["namespaced"] else ""
        return f"{base}{space}/{resource['name']}/{manifest['metadata']['name']}"

    def apply(self, manifest: Object, *, dry: bool = False) -> str:
        """Server-side apply with strict validation; why it is refused, "" where it is not."""
        words = "?fieldManager=sizewell&force=true&fieldValidation=Strict" + ("&dryRun=All" if dry else "")
        try:
            path = until(lambda: self._known(manifest), f"{manifest['kind']} is served", 20)
            self.ask(path + words, method="PATCH", body=manifest, kind="application/apply-patch+yaml")
        except urllib.error.HTTPError as error:
            return str(json.loads(error.read().decode()).get("message"))
        return ""

    def _known(self, manifest: Object) -> str:
        try:
            return self.path(manifest)
        except KeyError:
            return ""

    def read(self, path: str) -> Object | None:
        try:
            return dict(self.ask(path))
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise

    def delete(self, path: str) -> None:
        body = {"propagationPolicy": "Background", "gracePeriodSeconds": 0}
        with contextlib.suppress(urllib.error.HTTPError):
            self.ask(path, method="DELETE", body=body)

    def node(self, name: str, labels: dict[str, str], offers: dict[str, str], taints: list[Object]) -> None:
        """A machine that is there and ready."""
        node = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
            "spec": {"taints": taints},
        }
        assert self.apply(node) == ""
        ready = {"type": "Ready", "status": "True", "reason": "Here", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        status = {"capacity": offers, "allocatable": offers, "conditions": [ready]}
        self.ask(
            f"/api/v1/nodes/{name}/status",
            method="PATCH",
            body={"status": status},
            kind="application/merge-patch+json",
        )

    def _install(self, operator: str, gates: dict[str, bool]) -> None:
        """As the project's own manifests say; its process runs here, and its Service leads to this host."""
        folder = build.sources(build.PROGRAMS[operator].module, build.PROGRAMS[operator].version) / "config/default"
        line = [str(self.programs["kubectl"]), "kustomize", str(folder)]
        text = subprocess.run(line, check=True, capture_output=True, text=True).stdout
        port, config = free_port(), {}
        for one in yaml.safe_load_all(text):
            name = one["metadata"]["name"]
            if one["kind"] == "ConfigMap":
                config = yaml.safe_load(one["data"]["controller_manager_config.yaml"])
            if one["kind"] in ("Deployment", "APIService", "ConfigMap"):
                continue
            if name.endswith("-webhook-service"):
                one["spec"] = {"type": "ExternalName", "externalName": "localhost"}
            _lead(one, port)
            refused = self.apply(one)
            assert refused == "", f"{operator}: {one['kind']} {name}: {refused}"
        home = self.folder / operator
        certificates = home / "k8s-webhook-server/serving-certs"
        certificates.mkdir(parents=True)
        config |= {
            "health": {"healthProbeBindAddress": f"127.0.0.1:{free_port()}"},
            "metrics": {"bindAddress": "0"},
            "leaderElection": {"leaderElect": False},
            "webhook": {"port": port},
            **({"featureGates": gates} if gates else {}),
        }
        if operator != "lws":  # which has no such setting
            config["webhook"]["host"] = "127.0.0.1"
        (home / "config.yaml").write_text(yaml.safe_dump(config))
        shutil.copy(self.kubeconfig, home / "kubeconfig")
        space, secret = f"{operator}-system", f"{operator}-webhook-server-cert"
        mount = threading.Thread(target=self._mount, args=(space, secret, certificates), daemon=True)
        mount.start()
        # the place of the certificates is the same for all of them: each has a /tmp of its own
        script = 'mount --bind "$1" /tmp && shift && exec setpriv --pdeathsig KILL "$@"'
        program = self.folder / f"{operator}-program"
        os.link(self.programs[operator], program) if _same_disk(self.programs[operator], self.folder) else shutil.copy(
            self.programs[operator], program
        )
        shutil.move(program, home / "manager")
        line = ["unshare", "-rm", "sh", "-c", script, "sh", str(home), "/tmp/manager", "--config=/tmp/config.yaml"]  # noqa: S108
        self.run(operator, line, KUBECONFIG="/tmp/kubeconfig", NAMESPACE=space, POD_NAMESPACE=space)  # noqa: S108
        until(lambda: _listens(port), f"{operator}'s webhooks", 120, self.logs)

    def _install_kserve(self) -> None:
        """KServe's manager with the configuration that it ships, in which Knative is what runs a model by default.

        Knative's kind of a Service is there, and nothing that starts one. KServe's own manifests want cert-manager:
        its webhooks get a certificate of a minute ago instead.
        """
        folder = build.sources(build.PROGRAMS["kserve"].module, build.KSERVE)
        port, health = free_port(), free_port()
        home = self.folder / "kserve"
        certificates = home / "k8s-webhook-server/serving-certs"
        certificates.mkdir(parents=True)
        line = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=kserve"]
        line += ["-addext", "subjectAltName=IP:127.0.0.1"]
        line += ["-keyout", str(certificates / "tls.key"), "-out", str(certificates / "tls.crt")]
        subprocess.run(line, check=True, capture_output=True)
        authority = base64.b64encode((certificates / "tls.crt").read_bytes()).decode()
        spaces = [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            for name in ("kserve", "knative-serving")
        ]
        autoscaler = {"name": "config-autoscaler", "namespace": "knative-serving"}  # Knative ships it with an example
        spaces.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": autoscaler, "data": {}})
        shipped = [
            one
            for name in ("test/crds/knative_service.yaml", "config/configmap/inferenceservice.yaml")
            for one in yaml.safe_load_all((folder / name).read_text())
            if one
        ]
        for one in shipped:
            if one["kind"] == "ConfigMap":
                one["metadata"]["namespace"] = "kserve"
        for one in [*spaces, *shipped]:
            assert (why := self.apply(one)) == "", f"kserve: {one['kind']}: {why}"
        flags = {"metrics-addr": "0", "webhook-port": port, "health-probe-addr": f"127.0.0.1:{health}"}
        self.run(
            "kserve", [self.programs["kserve"], *_words(flags)], TMPDIR=str(home), POD_NAMESPACE="kserve"
        )  # certificates lie below the folder for temporary files
        until(lambda: _listens(port), "KServe's webhooks", 120, self.logs)
        for one in yaml.safe_load_all((folder / "config/webhook/manifests.yaml").read_text()):
            if not one or one["metadata"]["name"] != "inferenceservice.serving.kserve.io":
                continue
            one["metadata"].pop("creationTimestamp", None)
            for webhook in one["webhooks"]:
                path = webhook["clientConfig"]["service"]["path"]
                webhook["clientConfig"] = {"url": f"https://127.0.0.1:{port}{path}", "caBundle": authority}
                webhook["admissionReviewVersions"] = ["v1"]
            assert (why := self.apply(one)) == "", f"kserve: {one['kind']}: {why}"

    def _mount(self, space: str, secret: str, folder: Path) -> None:
        """What a kubelet does: the files of a Secret, once they are there."""
        while not self.stopped.wait(0.3):
            with contextlib.suppress(urllib.error.URLError, ConnectionError):
                data = (self.read(f"/api/v1/namespaces/{space}/secrets/{secret}") or {}).get("data")
                if data:
                    for name, value in data.items():
                        (folder / name).write_bytes(base64.b64decode(value))
                    return


def _lead(manifest: Object, port: int) -> None:
    """Webhooks of an operator, of admission and of conversion, at a port of this host."""
    clients = [one["clientConfig"] for one in manifest.get("webhooks", ())]
    if conversion := manifest.get("spec", {}).get("conversion", {}).get("webhook"):
        clients.append(conversion["clientConfig"])
    for client in clients:
        client["service"]["port"] = port


def _words(flags: dict[str, Any]) -> list[str]:
    return [f"--{key}={value}" for key, value in flags.items()]


def _listens(port: int) -> bool:
    with socket.socket() as tried:
        tried.settimeout(1)
        return tried.connect_ex(("127.0.0.1", port)) == 0


def _same_disk(first: Path, second: Path) -> bool:
    return first.stat().st_dev == second.stat().st_dev


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Plane]:
    plane = Plane(folder)
    try:
        plane.start()
        yield plane
    finally:
        plane.stop()
