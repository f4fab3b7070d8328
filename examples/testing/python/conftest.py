"""A pytest fixture with a real API server: `def test_something(signet): ...`. Needs the program `signet` in the PATH."""

import subprocess

import pytest
from kubernetes import client, config


@pytest.fixture
def signet(tmp_path):
    """The official client's `ApiClient`, as the administrator of a server of its own."""
    data = tmp_path / "data"
    flags = ["--data-dir", data, "--secure-port", "0", "--log-level", "error"]
    with subprocess.Popen(["signet", "serve", *flags], stdout=subprocess.PIPE, text=True) as process:
        try:
            if not any(line.startswith("ready in ") for line in process.stdout):
                raise RuntimeError("signet did not start: see what it printed")
            configuration = client.Configuration()
            config.load_kube_config(str(data / "admin.kubeconfig"), client_configuration=configuration)
            with client.ApiClient(configuration) as api:
                yield api
        finally:
            process.terminate()
