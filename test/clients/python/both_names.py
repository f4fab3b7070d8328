"""Writes in one spelling of the API groups, and reads, watches, changes and deletes in the other: all four ways.

Needs a server that serves both. Prints a line for each way; the first thing that goes wrong ends it with status 1.

    python both_names.py KUBECONFIG CERTIFICATE_REQUEST.pem
"""

import base64
import sys
from itertools import product

from kubernetes import client, config, dynamic
from kubernetes.dynamic.exceptions import ApiException

ADMIN_SIGNERS = {"k8s.io": "kubernetes.io/kube-apiserver-client", "platform.io": "platform.io/apiserver-client"}


def main(kubeconfig: str, request_file: str) -> None:
    config.load_kube_config(kubeconfig)
    with open(request_file, "rb") as file:
        request = base64.b64encode(file.read()).decode()
    for written, read in product(ADMIN_SIGNERS, repeat=2):
        Crossing(written, read, kubeconfig).run(request)
        print(f"ok: written as {written}, read as {read}")


class Crossing:
    def __init__(self, written: str, read: str, kubeconfig: str):
        self.written, self.read, self.kubeconfig = written, read, kubeconfig
        self.namespace = f"python-{written}-{read}".replace(".", "-")
        self.kinds = dynamic.DynamicClient(client.ApiClient())
        self.core = client.CoreV1Api()

    def run(self, request: str) -> None:
        self.core.create_namespace({"metadata": {"name": self.namespace}})
        self.leases()
        self.owners()
        self.roles_and_reviews()
        self.certificates(request)
        self.events()
        self.core.delete_namespace(self.namespace)

    def kind(self, domain: str, group: str, kind: str):
        return self.kinds.resources.get(api_version=f"{group}.{domain}/v1", kind=kind)

    def object(self, domain: str, group: str, kind: str, name: str, **fields) -> dict:
        return {"apiVersion": f"{group}.{domain}/v1", "kind": kind, "metadata": {"name": name}, **fields}

    def lease(self, domain: str, holder: str, name: str = "lease") -> dict:
        return self.object(domain, "coordination", "Lease", name, spec={"holderIdentity": holder})

    def leases(self) -> None:
        of_writer = self.kind(self.written, "coordination", "Lease")
        of_reader = self.kind(self.read, "coordination", "Lease")
        here = {"namespace": self.namespace}
        version = of_reader.get(**here).metadata.resourceVersion
        created = of_writer.create(body=self.lease(self.written, "one"), **here)
        assert created.apiVersion == f"coordination.{self.written}/v1"
        changed = {"metadata": {"labels": {"colour": "red"}}}
        of_reader.patch(name="lease", body=changed, content_type="application/merge-patch+json", **here)
        assert of_writer.get(name="lease", **here).metadata.labels.colour == "red"

        of_writer.server_side_apply(body=self.lease(self.written, "a"), field_manager="a", force_conflicts=True, **here)
        second = {"body": self.lease(self.read, "b"), "field_manager": "b", **here}
        refused(409, lambda: of_reader.server_side_apply(**second))
        of_reader.server_side_apply(force_conflicts=True, **second)
        owners = of_writer.get(name="lease", **here).metadata.managedFields
        assert [one.manager for one in owners if "f:spec" in one.fieldsV1.to_dict()] == ["b"], owners

        of_reader.delete(name="lease", **here)
        seen = []
        for event in of_reader.watch(namespace=self.namespace, resource_version=version, timeout=20):
            assert event["object"].apiVersion == f"coordination.{self.read}/v1"
            seen.append(event["type"])
            if event["type"] == "DELETED":
                break
        assert seen == ["ADDED", "MODIFIED", "MODIFIED", "MODIFIED", "DELETED"], seen

    def owners(self) -> None:
        leases = self.kind(self.written, "coordination", "Lease")
        owner = leases.create(body=self.lease(self.written, "one", "owner"), namespace=self.namespace).metadata
        reference = {"apiVersion": f"coordination.{self.read}/v1", "kind": "Lease", "name": "owner", "uid": owner.uid}
        maps = self.kinds.resources.get(api_version="v1", kind="ConfigMap")
        owned = {"metadata": {"name": "owned", "ownerReferences": [reference]}}
        version = maps.create(body=owned, namespace=self.namespace).metadata.resourceVersion
        leases.delete(name="owner", namespace=self.namespace)
        for event in maps.watch(namespace=self.namespace, name="owned", resource_version=version, timeout=20):
            if event["type"] == "DELETED":
                return
        raise AssertionError("what the Lease owned is still there")

    def roles_and_reviews(self) -> None:
        access, here = "rbac.authorization", {"namespace": self.namespace}
        rule = {"apiGroups": [f"coordination.{self.read}"], "resources": ["leases"], "verbs": ["list"]}
        role = self.object(self.written, access, "Role", "reader", rules=[rule])
        self.kind(self.written, access, "Role").create(body=role, **here)
        binding = self.object(
            self.read,
            access,
            "RoleBinding",
            "robot-reads",
            roleRef={"apiGroup": f"{access}.{self.written}", "kind": "Role", "name": "reader"},
            subjects=[{"kind": "ServiceAccount", "name": "robot", "namespace": self.namespace}],
        )
        self.kind(self.read, access, "RoleBinding").create(body=binding, **here)
        self.core.create_namespaced_service_account(self.namespace, {"metadata": {"name": "robot"}})
        token = self.core.create_namespaced_service_account_token("robot", self.namespace, {"spec": {}}).status.token
        for domain in (self.written, self.read):
            review = self.object(domain, "authentication", "TokenReview", "", spec={"token": token})
            answer = self.kind(domain, "authentication", "TokenReview").create(body=review)
            assert answer.apiVersion == f"authentication.{domain}/v1"
            assert answer.status.user.username == f"system:serviceaccount:{self.namespace}:robot"
            with client.ApiClient(self.robot(token)) as as_robot:
                kinds = dynamic.DynamicClient(as_robot)
                kinds.resources.get(api_version=f"coordination.{domain}/v1", kind="Lease").get(**here)
                refused(403, lambda: client.CoreV1Api(as_robot).list_namespaced_secret(self.namespace))

    def robot(self, token: str) -> client.Configuration:
        configuration = client.Configuration()
        config.load_kube_config(self.kubeconfig, client_configuration=configuration)
        configuration.cert_file = configuration.key_file = None
        configuration.api_key = {"authorization": f"Bearer {token}"}
        return configuration

    def certificates(self, request: str) -> None:
        spec = {"request": request, "signerName": ADMIN_SIGNERS[self.read], "usages": ["client auth"]}
        body = self.object(self.written, "certificates", "CertificateSigningRequest", self.namespace, spec=spec)
        of_writer = self.kind(self.written, "certificates", "CertificateSigningRequest")
        of_reader = self.kind(self.read, "certificates", "CertificateSigningRequest")
        created = of_writer.create(body=body)
        approved = {"type": "Approved", "status": "True", "reason": "Test", "message": "by a test"}
        approval = {**body, "metadata": created.metadata.to_dict(), "status": {"conditions": [approved]}}
        approval["apiVersion"] = f"certificates.{self.read}/v1"
        of_reader.subresources["approval"].replace(name=self.namespace, body=approval)
        for event in of_writer.watch(name=self.namespace, timeout=20):
            issued = event["object"]
            if issued.status.certificate:
                break
        assert base64.b64decode(issued.status.certificate).startswith(b"-----BEGIN CERTIFICATE-----")
        assert issued.spec.signerName == ADMIN_SIGNERS[self.read], "a value stays as it was written"
        of_reader.delete(name=self.namespace)

    def events(self) -> None:
        event = self.object(
            self.written,
            "events",
            "Event",
            "tried",
            eventTime="2026-01-01T00:00:00.000000Z",
            regarding={"kind": "Namespace", "name": self.namespace, "namespace": self.namespace},
            reportingController="example.com/test",
            reportingInstance="test-1",
            action="Try",
            reason="Tried",
            type="Normal",
            note="It was tried.",
        )
        here = {"namespace": self.namespace}
        self.kind(self.written, "events", "Event").create(body=event, **here)
        assert self.kind(self.read, "events", "Event").get(name="tried", **here).note == "It was tried."
        assert self.core.list_namespaced_event(self.namespace).items[0].message == "It was tried."


def refused(code: int, call) -> None:
    try:
        call()
    except (ApiException, client.exceptions.ApiException) as error:
        assert error.status == code, error
    else:
        raise AssertionError(f"not refused with {code}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
