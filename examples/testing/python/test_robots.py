import json
import ssl
import urllib.request


def test_a_namespace_is_created(signet):
    request = urllib.request.Request(
        f"{signet.url}/api/v1/namespaces",
        data=json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "factory"}}).encode(),
        headers={"Authorization": f"Bearer {signet.token}", "Content-Type": "application/json"},
    )
    context = ssl.create_default_context(cafile=signet.ca_file)
    with urllib.request.urlopen(request, context=context) as response:
        assert response.status == 201
        assert json.load(response)["metadata"]["uid"]
