"""Every autoscaled service's metric, from the engine's exporter over Prometheus to KEDA's own scaler.

The exporter is a stand-in that says what the engine's source says; Prometheus is Debian's, scrapes by the rules that
its chart has for annotated pods (prometheus-community/helm-charts, charts/prometheus, job kubernetes-pods), and is
asked by KEDA's own scaler, built from its module at the version that we install. What has to hold: the load arrives,
and no data is an error of the scaler, never zero load.
"""

import contextlib
import http.server
import json
import os
import shutil
import signal
import subprocess
import threading
import time
import urllib.request
from pathlib import Path

import launch_cases as cases
import pytest
import yaml
from control_plane import build, plane

from sizewell.launch.manifests import manifests

ABSENT = [name for name in ("prometheus", "promtool") if shutil.which(name) is None]
pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(bool(ABSENT), reason=f"Debian's prometheus judges no query: {', '.join(ABSENT)} are absent"),
]
needs_keda = pytest.mark.skipif(shutil.which("go") is None, reason="without Go KEDA's own scaler judges nothing")
META = "__meta_kubernetes_pod_annotation_prometheus_io"
RULES = [  # what the chart's job does with a pod; the addresses are those of IPv4
    {"source_labels": [f"{META}_scrape"], "action": "keep", "regex": "true"},
    {"source_labels": [f"{META}_path"], "regex": "(.+)", "target_label": "__metrics_path__"},
    {
        "source_labels": [f"{META}_port", "__meta_kubernetes_pod_ip"],
        "regex": r"(\d+);((([0-9]+?)(\.|$)){4})",
        "replacement": "$2:$1",
        "target_label": "__address__",
    },
    {"action": "labelmap", "regex": "__meta_kubernetes_pod_label_(.+)"},
    {"source_labels": ["__meta_kubernetes_namespace"], "target_label": "namespace"},
    {"source_labels": ["__meta_kubernetes_pod_name"], "target_label": "pod"},
]
RECORD = Path(__file__).parent / "control_plane/metrics.json"
CHART_INTERVAL_S = 60  # the chart's own, where nobody says another


@pytest.fixture(scope="module")
def judged():
    """What arrived, which SIZEWELL_REFRESH writes down for docs/reference/judged.md."""
    rows = []
    yield rows
    if os.environ.get("SIZEWELL_REFRESH") and rows:
        said = subprocess.run(["prometheus", "--version"], capture_output=True, text=True, check=True)
        version = (said.stdout + said.stderr).split()[2]
        record = {"prometheus": version, "keda": build.PROGRAMS["keda"].version, "rows": rows}
        RECORD.write_text(json.dumps(record, indent=1) + "\n")


def vllm(running, waiting):
    """As vllm/v1/metrics/loggers.py of 0.11.0 names its gauges."""
    labels = '{engine="0",model_name="chat"}'
    return (
        f"# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{labels} {running}\n"
        f"# TYPE vllm:num_requests_waiting gauge\nvllm:num_requests_waiting{labels} {waiting}\n"
    )


def triton(microseconds):
    """As Triton's metrics page has it: the cumulative time of requests, queue included."""
    labels = '{model="resnet-50",version="1"}'
    return f"# TYPE nv_inference_request_duration_us counter\nnv_inference_request_duration_us{labels} {microseconds}\n"


class Exporters:
    """One exporter a pod, each at a loopback address of its own, at the port that the pod's annotations name."""

    def __init__(self):
        self.servers, self.texts = {}, {}

    def start(self, address, port):
        texts = self.texts

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                text = texts.get(address, "")
                text = text() if callable(text) else text
                code = 200 if self.path == "/metrics" and text else 404
                self.send_response(code)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer((address, port), Handler)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        self.servers[address] = server

    def stop(self, address):
        server = self.servers.pop(address)
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def prometheus(folder, pods):
    """Debian's Prometheus over these pods; yields its address."""
    groups = []
    for address, (namespace, name, template) in pods.items():
        metadata = template["metadata"]
        labels = {
            f"__meta_kubernetes_pod_annotation_{_label(k)}": v for k, v in metadata.get("annotations", {}).items()
        }
        labels |= {f"__meta_kubernetes_pod_label_{_label(k)}": v for k, v in metadata["labels"].items()}
        labels |= {"__meta_kubernetes_namespace": namespace, "__meta_kubernetes_pod_name": name}
        labels["__meta_kubernetes_pod_ip"] = address
        ports = [port for one in template["spec"]["containers"] for port in one.get("ports", [])] or [
            {"containerPort": 1}
        ]
        groups += [{"targets": [f"{address}:{port['containerPort']}"], "labels": labels} for port in ports]
    (folder / "pods.json").write_text(json.dumps(groups))
    job = {"job_name": "kubernetes-pods", "honor_labels": True, "relabel_configs": RULES}
    job["file_sd_configs"] = [{"files": [str(folder / "pods.json")]}]
    config = {"global": {"scrape_interval": "1s", "scrape_timeout": "1s"}, "scrape_configs": [job]}
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    url = f"http://127.0.0.1:{plane.free_port()}"
    line = ["prometheus", f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*line, f"--web.listen-address={url.removeprefix('http://')}"],
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        plane.until(lambda: urllib.request.urlopen(f"{url}/-/ready", timeout=2), "Prometheus", 30)  # noqa: S310  (loopback)
        yield url
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)


def _label(text):
    return "".join(each if each.isalnum() else "_" for each in text)


def scaled(name):
    """The trigger that counts requests, the template of pods that answer, their namespace, name and how it goes on."""
    made = manifests(cases.CASES[name]())
    rule = next((one for one in made if one["kind"] == "ScaledObject"), None)
    if rule is None:
        return None
    trigger = next(one for one in rule["spec"]["triggers"] if one["type"] == "prometheus")
    work = next(one for one in made if one["kind"] in ("Deployment", "LeaderWorkerSet", "InferenceService"))
    if work["kind"] == "LeaderWorkerSet":
        template = work["spec"]["leaderWorkerTemplate"]["leaderTemplate"]
    elif work["kind"] == "InferenceService":  # KServe hands labels and annotations on to its pods
        metadata = {"labels": work["metadata"]["labels"], "annotations": work["metadata"]["annotations"]}
        template = {"metadata": metadata, "spec": work["spec"]["predictor"]}
    else:
        template = work["spec"]["template"]
    suffix = "-predictor" if work["kind"] == "InferenceService" else ""
    ends = "0" if work["kind"] == "LeaderWorkerSet" else "6d4cf56db6-x7k2p"  # as their controllers name pods
    return trigger["metadata"], template, work["metadata"]["namespace"], work["metadata"]["name"] + suffix, ends


SCALED = [name for name in cases.CASES if cases.CASES[name]().plan.kind == "inference" and scaled(name)]


def asked(url, metadata):
    """What KEDA's scaler says of a trigger."""
    line = subprocess.run(
        [build.built("keda")],
        input=json.dumps({**metadata, "serverAddress": url}),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(line.stdout)


@needs_keda
@pytest.mark.parametrize("name", SCALED)
def test_the_load_arrives_and_silence_is_no_load(name, tmp_path, judged):
    metadata, template, namespace, work, suffix = scaled(name)
    exporters, addresses = Exporters(), ["127.0.41.1", "127.0.41.2"]
    names = [f"{work}-{suffix}", f"{work}-{suffix[:-1]}1"]
    pods = {address: (namespace, pod, template) for address, pod in zip(addresses, names, strict=True)}
    port = int(template["metadata"]["annotations"]["prometheus.io/port"])
    began = time.monotonic()
    for address in addresses:
        exporters.start(address, port)
    try:
        with prometheus(tmp_path, pods) as url:
            said = asked(url, metadata)
            assert "the result is empty" in said["error"], said  # engines that load say nothing yet
            if "triton" in template["spec"]["containers"][0]["image"]:
                busy = lambda: triton(int((time.monotonic() - began) * 3e6))  # three at a time  # noqa: E731
                exporters.texts |= dict.fromkeys(addresses, busy)
                expected = 6.0
            else:
                exporters.texts |= {addresses[0]: vllm(30, 4), addresses[1]: vllm(7, 0)}
                expected = 41.0
            said = plane.until(
                lambda: (now := asked(url, metadata)) and abs(now["value"] - expected) <= 0.1 * expected and now,
                f"{expected} requests arrive",
                40,
                lambda: str(asked(url, metadata)),
            )
            assert said["error"] == ""
            assert said["active"]
            read = said["value"]
            other = asked(url, {**metadata, "query": metadata["query"].replace('pod=~"', 'pod=~"other-')})
            assert "the result is empty" in other["error"], "of other pods it counts nothing"
            for address in addresses:
                exporters.stop(address)
            said = plane.until(
                lambda: (now := asked(url, metadata)) and now["error"] and now,
                "silence is an error",
                400 if "rate(" in metadata["query"] else 200,  # counts are averaged over two minutes
            )
            assert "the result is empty" in said["error"]
            judged.append({"case": name, "load": expected, "read": read, "silence": "an error of the scaler"})
    finally:
        for address in list(exporters.servers):
            exporters.stop(address)


@pytest.mark.parametrize("name", SCALED)
def test_the_query_has_an_answer_at_the_interval_that_the_chart_looks_in(name, tmp_path):
    """Played through by promtool, with a look a minute: a rate over one minute would never have one."""
    metadata, _, namespace, work, suffix = scaled(name)
    series = {}
    for pod in (f"{work}-{suffix}", f"{work}-large-{suffix}", f"{work}-load-x7k2p"):  # its own, and others of its name
        labels = f'namespace="{namespace}",pod="{pod}"'
        series |= {
            f"vllm:num_requests_running{{{labels}}}": "30x20",
            f"vllm:num_requests_waiting{{{labels}}}": "4x20",
            f"nv_inference_request_duration_us{{{labels}}}": f"0+{34 * CHART_INTERVAL_S * 1_000_000}x20",
        }
    answer = {"expr": metadata["query"], "eval_time": "12m30s", "exp_samples": [{"labels": "{}", "value": 34}]}
    none = {**answer, "expr": metadata["query"].replace('pod=~"', 'pod=~"other-'), "exp_samples": []}
    test = {
        "interval": f"{CHART_INTERVAL_S}s",
        "input_series": [{"series": key, "values": values} for key, values in series.items()],
        "promql_expr_test": [answer, none],
    }
    (tmp_path / "test.yml").write_text(yaml.safe_dump({"tests": [test]}))
    done = subprocess.run(
        ["promtool", "test", "rules", "test.yml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
