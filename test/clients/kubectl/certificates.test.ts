import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { it } from "node:test";
import { certificateRequest } from "../certificate-request.ts";
import { describeKubectl, kubernetesOnly } from "./kubectl-scene.ts";

describeKubectl("kubectl certificate", kubernetesOnly, (kubectl) => {
  const request = (name: string): Promise<string> =>
    kubectl.output("create -f -", { input: JSON.stringify(certificateRequest({ name, names: kubectl.names })) });
  const signer = "kubernetes.io/kube-apiserver-client";

  it("approves a request, which is then signed", async () => {
    assert.equal(await request("ann"), "certificatesigningrequest.certificates.k8s.io/ann created\n");
    const [pending] = await kubectl.table("get csr ann --no-headers");
    assert.deepEqual(
      pending?.toSpliced(1, 1),
      ["ann", signer, "admin", "24h", "Pending"],
      "a new request, but for its age",
    );
    assert.equal(
      await kubectl.output("certificate approve ann"),
      "certificatesigningrequest.certificates.k8s.io/ann approved\n",
    );
    await kubectl.output("wait csr/ann --for=jsonpath={.status.certificate} --timeout=20s");
    const encoded = await kubectl.output("get csr ann -o jsonpath={.status.certificate}");
    const certificate = new X509Certificate(Buffer.from(encoded, "base64"));
    assert.equal(certificate.subject, "O=staff\nCN=ann");
    const [, row] = await kubectl.table("get csr ann");
    assert.equal(row?.at(-1), "Approved,Issued");
    assert.match(await kubectl.output("describe csr ann"), /^Status: +Approved,Issued$/m);
  });

  it("denies a request permanently", async () => {
    await request("bob");
    assert.equal(
      await kubectl.output("certificate deny bob"),
      "certificatesigningrequest.certificates.k8s.io/bob denied\n",
    );
    assert.equal((await kubectl.table("get csr bob"))[1]?.at(-1), "Denied");
    assert.match(
      await kubectl.refusal("certificate approve bob"),
      /certificate signing request "bob" is already Denied/,
    );
  });

  it("waits for the condition of a request", async () => {
    await request("cora");
    const waiting = kubectl.output("wait csr/cora --for=condition=Approved --timeout=20s");
    await kubectl.output("certificate approve cora");
    assert.equal(await waiting, "certificatesigningrequest.certificates.k8s.io/cora condition met\n");
  });

  it("finds requests by their signer", async () => {
    await request("dora");
    const found = await kubectl.output(`get csr --field-selector spec.signerName=${signer} -o name`);
    assert.match(found, /^certificatesigningrequest\.certificates\.k8s\.io\/dora$/m);
    assert.equal(await kubectl.output("get csr --field-selector spec.signerName=example.com/other -o name"), "");
  });

  it("refuses approvals by users without the permission", async () => {
    await request("eve");
    assert.match(
      await kubectl.refusal("certificate approve eve --as=eve"),
      /certificatesigningrequests\.certificates\.k8s\.io "eve" is forbidden: User "eve" cannot get resource/,
    );
  });
});
