"""A pytest fixture with a real API server: `def test_something(signet): ...`. Needs the program `signet` in the PATH."""

import dataclasses
import pathlib
import re
import subprocess

import pytest


@dataclasses.dataclass
class Server:
    url: str
    ca_file: pathlib.Path
    kubeconfig: pathlib.Path  # the administrator's: kubernetes.config.load_kube_config(str(signet.kubeconfig))
    token: str  # a member of system:masters, for clients without kubeconfig


@pytest.fixture
def signet(tmp_path):
    data = tmp_path / "data"
    token = "test-administrator"
    tokens = tmp_path / "tokens.csv"
    tokens.touch(mode=0o600)
    tokens.write_text(f'{token},admin,admin-uid,"system:masters"\n')
    flags = ["--data-dir", data, "--secure-port", "0", "--token-auth-file", tokens, "--log-level", "error"]
    with subprocess.Popen(["signet", "serve", *flags], stdout=subprocess.PIPE, text=True) as process:
        try:
            if not any(line.startswith("ready in ") for line in process.stdout):
                raise RuntimeError("signet did not start: see what it printed")
            kubeconfig = data / "admin.kubeconfig"
            url = re.search(r"server: (https://\S+)", kubeconfig.read_text()).group(1)
            yield Server(url, data / "ca.crt", kubeconfig, token)
        finally:
            process.terminate()
