import assert from "node:assert/strict";
import { it } from "node:test";
import { kubernetesNames, platformNames } from "../../../src/machinery/api/names.ts";
import { certificateRequest } from "../certificate-request.ts";
import { describeKubectlOfBoth } from "./kubectl-scene.ts";

describeKubectlOfBoth("kubectl on a default server", (kubectl) => {
  const upstream = (plural: string): string => `${plural}.${kubernetesNames.group("certificates")}`;

  it("shows its user, creates tokens, roles and bindings, and checks what they allow", async () => {
    assert.match(await kubectl.output("auth whoami"), /authentication\.kubernetes\.io\/credential-id/);
    await kubectl.output("create serviceaccount robot");
    assert.match(await kubectl.output("create token robot --duration 1h"), /^ey/);
    const mayList = "auth can-i list secrets --as system:serviceaccount:default:robot";
    assert.equal((await kubectl.run(mayList)).output, "no\n");
    assert.match(
      await kubectl.output("create role reader --verb list --resource secrets"),
      /rbac\.authorization\.k8s\.io\/reader/,
    );
    await kubectl.output("create rolebinding robot-reads --role reader --serviceaccount default:robot");
    assert.equal((await kubectl.run(mayList)).output, "yes\n");
    const rules = await kubectl.output("auth can-i --list --as system:serviceaccount:default:robot");
    assert.match(rules, /selfsubjectreviews\.authentication\.k8s\.io/);
  });

  for (const names of [platformNames, kubernetesNames]) {
    const group = names.group("certificates");

    it(`applies, approves and waits for a certificate that a file asks for in ${group}`, async () => {
      const name = `of-${names.profile}`;
      const file = kubectl.file(`${name}.json`, JSON.stringify(certificateRequest({ name, names })));
      const applied = await kubectl.run(`apply --server-side -f ${file}`);
      assert.equal(applied.output, `certificatesigningrequest.${group}/${name} serverside-applied\n`, applied.errors);
      assert.equal(
        await kubectl.output(`certificate approve ${name}`),
        `${upstream("certificatesigningrequest")}/${name} approved\n`,
      );
      const issued = await kubectl.run(`wait csr/${name} --for jsonpath='{.status.certificate}' --timeout 20s`);
      assert.equal(issued.exitCode, 0, issued.errors);
      assert.equal(issued.errors, "", "no warning of two resources with one short name");
      const signer = await kubectl.output(
        `get certificatesigningrequests.${group} ${name} -o jsonpath='{.apiVersion} {.spec.signerName}'`,
      );
      assert.match(signer, new RegExp(`^${group}/v1 ${names.domain}/`), "as it was written");
      assert.equal((await kubectl.run(`diff -f ${file}`)).exitCode, 0);
    });
  }

  it("shows the events of both of their groups, and trust bundles without a warning", async () => {
    const event = {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { name: "new", namespace: "default" },
      eventTime: "2026-01-01T00:00:00.000000Z",
      regarding: { kind: "Namespace", name: "default", namespace: "default" },
      ...{
        reportingController: "example.com/c",
        reportingInstance: "c-1",
        action: "A",
        reason: "Tried",
        type: "Normal",
      },
      note: "It was tried.",
    };
    await kubectl.output("create -f -", { input: JSON.stringify(event) });
    assert.match(await kubectl.output("get events"), /Normal +Tried +namespace\/default +It was tried\./);
    assert.match(await kubectl.output("get events.events.k8s.io"), /Tried/);
    assert.match(await kubectl.output("events"), /It was tried\./);
    const bundles = await kubectl.run("get clustertrustbundles");
    assert.deepEqual([bundles.exitCode, bundles.errors], [0, ""]);
  });
});
