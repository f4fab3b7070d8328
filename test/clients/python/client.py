"""Speaks to a server with the official Python client: CRUD, patches, apply, watch, tokens, reviews, certificates.

Prints one line for each thing that worked; the first that does not ends it with status 1.

    python client.py KUBECONFIG [CERTIFICATE_REQUEST.pem]
"""

import base64
import sys

from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException

NAMESPACE = "python-clients"


def main(kubeconfig: str, request_file: str | None) -> None:
    config.load_kube_config(kubeconfig)
    core = client.CoreV1Api()
    core.create_namespace({"metadata": {"name": NAMESPACE}})
    changes(core)
    changes_are_watched(core)
    for group in ("coordination.k8s.io", "coordination.platform.io"):
        applied_by_the_dynamic_client(group)
    tokens(core, kubeconfig)
    if request_file is not None:
        certificates(request_file)
    core.delete_namespace(NAMESPACE)
    print("ok: everything")


def config_map(name: str) -> dict:
    return {"metadata": {"name": name, "labels": {"sample": "yes"}}, "data": {"colour": "red"}}


def changes(core: client.CoreV1Api) -> None:
    created = core.create_namespaced_config_map(NAMESPACE, config_map("settings"))
    read = core.read_namespaced_config_map("settings", NAMESPACE)
    assert read == created
    read.data["colour"] = "green"
    core.replace_namespaced_config_map("settings", NAMESPACE, read)
    refused(409, lambda: core.replace_namespaced_config_map("settings", NAMESPACE, read))
    patched = core.patch_namespaced_config_map("settings", NAMESPACE, {"data": {"size": "2"}})
    assert patched.data == {"colour": "green", "size": "2"}
    for name in "abc":
        core.create_namespaced_config_map(NAMESPACE, config_map(name))
    page = core.list_namespaced_config_map(NAMESPACE, limit=2, label_selector="sample")
    others = core.list_namespaced_config_map(NAMESPACE, label_selector="sample", _continue=page.metadata._continue)
    assert [item.metadata.name for item in page.items + others.items] == ["a", "b", "c", "settings"]
    refused(404, lambda: core.read_namespaced_config_map("nothing", NAMESPACE))
    refused(422, lambda: core.create_namespaced_config_map(NAMESPACE, config_map("Wrong_Name")))
    core.delete_collection_namespaced_config_map(NAMESPACE, label_selector="sample")
    print("ok: create, read, replace, patch, pages, errors, delete")


def changes_are_watched(core: client.CoreV1Api) -> None:
    version = core.list_namespaced_service_account(NAMESPACE).metadata.resource_version
    core.create_namespaced_service_account(NAMESPACE, {"metadata": {"name": "followed"}})
    core.patch_namespaced_service_account("followed", NAMESPACE, {"metadata": {"labels": {"a": "b"}}})
    core.delete_namespaced_service_account("followed", NAMESPACE)
    stream = watch.Watch()
    seen = []
    for event in stream.stream(
        core.list_namespaced_service_account,
        NAMESPACE,
        resource_version=version,
        field_selector="metadata.name=followed",
        timeout_seconds=20,
    ):
        seen.append(event["type"])
        if event["type"] == "DELETED":
            stream.stop()
    assert seen == ["ADDED", "MODIFIED", "DELETED"], seen
    print("ok: watch")


def applied_by_the_dynamic_client(group: str) -> None:
    kinds = dynamic.DynamicClient(client.ApiClient())
    leases = kinds.resources.get(api_version=f"{group}/v1", kind="Lease")

    def apply(holder: str, manager: str, **more) -> dict:
        body = {
            "apiVersion": f"{group}/v1",
            "kind": "Lease",
            "metadata": {"name": group, "namespace": NAMESPACE},
            "spec": {"holderIdentity": holder},
        }
        return kinds.server_side_apply(leases, body=body, field_manager=manager, **more)

    apply("one", "one")
    refused(409, lambda: apply("two", "two"))
    assert apply("two", "two", force_conflicts=True).spec.holderIdentity == "two"
    print("ok: dynamic client and apply")


def tokens(core: client.CoreV1Api, kubeconfig: str) -> None:
    core.create_namespaced_service_account(NAMESPACE, {"metadata": {"name": "robot"}})
    request = client.AuthenticationV1TokenRequest(spec=client.V1TokenRequestSpec(audiences=[]))
    token = core.create_namespaced_service_account_token("robot", NAMESPACE, request).status.token
    username = f"system:serviceaccount:{NAMESPACE}:robot"
    review = client.AuthenticationV1Api().create_token_review({"spec": {"token": token}})
    assert review.status.user.username == username
    robot = client.Configuration()
    config.load_kube_config(kubeconfig, client_configuration=robot)
    robot.cert_file = robot.key_file = None
    robot.api_key = {"authorization": f"Bearer {token}"}
    with client.ApiClient(robot) as as_robot:
        self_review = client.AuthenticationV1Api(as_robot).create_self_subject_review({})
        assert self_review.status.user_info.username == username
        refused(403, lambda: client.CoreV1Api(as_robot).list_namespaced_secret(NAMESPACE))
    access = client.AuthorizationV1Api().create_subject_access_review(
        {"spec": {"user": "ann", "resourceAttributes": {"verb": "get", "resource": "secrets"}}}
    )
    assert access.status.allowed is False
    print("ok: tokens and reviews")


def certificates(request_file: str) -> None:
    api = client.CertificatesV1Api()
    with open(request_file, "rb") as file:
        request = base64.b64encode(file.read()).decode()
    name = "python-client"
    spec = {"request": request, "signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"]}
    created = api.create_certificate_signing_request({"metadata": {"name": name}, "spec": spec})
    approved = {"type": "Approved", "status": "True", "reason": "Test", "message": "by a test"}
    created.status = client.V1CertificateSigningRequestStatus(conditions=[approved])
    api.replace_certificate_signing_request_approval(name, created)
    stream = watch.Watch()
    for event in stream.stream(
        api.list_certificate_signing_request, field_selector=f"metadata.name={name}", timeout_seconds=20
    ):
        if event["object"].status.certificate:
            stream.stop()
    issued = api.read_certificate_signing_request(name)
    assert base64.b64decode(issued.status.certificate).startswith(b"-----BEGIN CERTIFICATE-----")
    api.delete_certificate_signing_request(name)
    print("ok: certificates")


def refused(code: int, call) -> None:
    try:
        call()
    except ApiException as error:
        assert error.status == code, error
    else:
        raise AssertionError(f"not refused with {code}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)
