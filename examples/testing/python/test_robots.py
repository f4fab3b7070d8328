from kubernetes import client, watch


def test_a_token_says_which_account_it_is_of(signet):
    core = client.CoreV1Api(signet)
    core.create_namespace({"metadata": {"name": "factory"}})
    core.create_namespaced_service_account("factory", {"metadata": {"name": "welder"}})

    token = core.create_namespaced_service_account_token("welder", "factory", {"spec": {}}).status.token

    review = client.AuthenticationV1Api(signet).create_token_review({"spec": {"token": token}})
    assert review.status.user.username == "system:serviceaccount:factory:welder"


def test_every_namespace_gets_an_account(signet):
    core = client.CoreV1Api(signet)
    core.create_namespace({"metadata": {"name": "factory"}})

    for event in watch.Watch().stream(core.list_namespaced_service_account, "factory", timeout_seconds=20):
        if event["object"].metadata.name == "default":
            return
    raise AssertionError("no account")
