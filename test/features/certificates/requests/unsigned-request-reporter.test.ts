import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { kubernetesNames, platformNames as names } from "../../../../src/machinery/api/names.ts";
import { ApiClient } from "../../../../src/machinery/client/api-client.ts";
import { inProcessTransport } from "../../../../src/machinery/client/in-process-transport.ts";
import { runControllers } from "../../../../src/machinery/loops/elected-controllers.ts";
import type { Event } from "../../../../src/features/core/events/event-schema.ts";
import { missingSigner } from "../../../../src/features/certificates/requests/missing-signer.ts";
import { unsignedRequestReporter } from "../../../../src/features/certificates/requests/unsigned-request-reporter.ts";
import { rootSigningAuthority } from "../../../../src/features/certificates/authorities/signing-authority.ts";
import { runningSigners } from "../../../../src/features/certificates/signers/running-signers.ts";
import { encodePem } from "../../../../src/pki/pem.ts";
import { ManualTime } from "../../../manual-time.ts";
import { loopContext } from "../../../run-loop.ts";
import { startTestServer } from "../../../test-server.ts";
import type { TestServer } from "../../../test-server.ts";
import { CertificateScene, newAuthority, until } from "../certificate-loop-scene.ts";
import { signerNames } from "../../../../src/features/certificates/signer-names.ts";

const authority = rootSigningAuthority(newAuthority("signer"));
const apiserverClient = signerNames.apiserverClient(names);
const nodeAgentServing = signerNames.nodeAgentServing(names);

/** One of the server's own signers has a CA, and one of the configured ones. */
const signers = runningSigners({
  names,
  authorityFor: (signerName) => (signerName === apiserverClient ? authority : undefined),
  configured: () =>
    [authority, undefined].map((own, index) => ({
      name: `example.com/configured-${index}`,
      lifetime: { maximumSeconds: 3600, defaultSeconds: 3600 },
      faults: () => [],
      authority: () => own,
      existingAuthority: () => own,
      revocationUrl: undefined,
    })),
  maximumLifetimeSeconds: 3600,
  revocation: undefined,
});

describe("why a request has no signer", () => {
  const why = (signerName: string, isSigning = true) => missingSigner(signerName, { names, signers, isSigning });

  it("is undefined for a signer that runs here", () => {
    assert.equal(why(apiserverClient), undefined);
    assert.equal(why("example.com/configured-0"), undefined);
  });

  it("is reported at once when no external signer can be meant", () => {
    const wanted: readonly [string, RegExp][] = [
      [nodeAgentServing, /has no CA here: set --cluster-signing-nodeagent-serving-cert-file/],
      [
        "platform.io/nonsense",
        /there is no signer "platform\.io\/nonsense": create a request for one of platform\.io\//,
      ],
      ["other.platform.io/x", /there is no signer/],
      [signerNames.apiserverClient(kubernetesNames), /create a request for platform\.io\/apiserver-client$/],
      ["example.com/configured-1", /set another CA for it in --signer-config/],
    ];
    for (const [signerName, message] of wanted) {
      assert.equal(why(signerName)?.mayRunElsewhere, false, signerName);
      assert.match(why(signerName)?.message ?? "", message);
    }
  });

  it("waits when an external signer may sign", () => {
    assert.equal(why("example.com/theirs")?.mayRunElsewhere, true);
    assert.equal(why("notplatform.io/x")?.mayRunElsewhere, true);
    assert.equal(why(apiserverClient, false)?.mayRunElsewhere, true);
    assert.match(why(apiserverClient, false)?.message ?? "", /csrsigning is disabled/);
    assert.equal(why(nodeAgentServing, false)?.mayRunElsewhere, true);
  });
});

describe("the reporter of requests without a signer", () => {
  let server: TestServer;
  let scene: CertificateScene;
  before(async () => {
    server = await startTestServer({ settings: { controllers: false } });
    scene = new CertificateScene(server.client);
  });

  /** The loop with a clock that stands still, and timers that the test sets off. */
  function start() {
    const client = new ApiClient(inProcessTransport(server.handler, { bearerToken: server.adminToken }));
    const time = new ManualTime();
    const lines: string[] = [];
    const context = loopContext({
      client,
      clock: time.clock,
      schedule: time.schedule,
      log: { info: (_fields, message) => lines.push(message), error: (fields) => lines.push(JSON.stringify(fields)) },
    });
    return { lines, time, ...runControllers([unsignedRequestReporter({ signers, isSigning: true })], context) };
  }

  const eventOn = (name: string): Promise<Event> =>
    until<Event>(scene.client, scene.references.events, ({ involvedObject }) => involvedObject.name === name);
  const eventsOn = async (name: string): Promise<Event[]> => {
    const { items } = await scene.client.resource(scene.references.events, "default").list();
    return items.filter(({ involvedObject }) => involvedObject.name === name);
  };

  it("reports once, on the request and in the log, that the signer does not exist", async () => {
    const loop = start();
    await loop.synced;
    await scene.request({ name: "nonsense", signerName: "platform.io/nonsense", commonName: "a" });
    const event = await eventOn("nonsense");
    assert.deepEqual(
      [event.type, event.reason, event.metadata.namespace, event.involvedObject.kind],
      ["Warning", "NoSigner", "default", "CertificateSigningRequest"],
    );
    assert.match(event.message ?? "", /there is no signer "platform\.io\/nonsense"/);
    await scene.approve("nonsense");
    await scene.request({ name: "nonsense-2", signerName: "platform.io/nonsense", commonName: "a" });
    await eventOn("nonsense-2");
    await loop.stop();

    const again = start();
    await again.synced;
    await scene.request({ name: "nonsense-3", signerName: "platform.io/nonsense", commonName: "a" });
    await eventOn("nonsense-3");
    await again.stop();
    assert.equal((await eventsOn("nonsense")).length, 1);
    assert.equal(loop.lines.length, 2);
    assert.match(loop.lines[0] ?? "", /^the request has no signer: there is no signer/);
    assert.equal(again.lines.length, 1, again.lines.join("\n"));
  });

  it("gives an external signer one minute after the approval", async () => {
    const loop = start();
    await loop.synced;
    await scene.request({ name: "theirs", signerName: "example.com/theirs", commonName: "a" });
    await scene.approve("theirs");
    const approved = await scene.settled("theirs", ({ status }) => status.conditions?.length === 1);
    assert.ok(approved);
    await loop.time.whenTimerIsSet();
    loop.time.pass(30_000);
    assert.equal((await eventsOn("theirs")).length, 0);
    loop.time.pass(60_000); // the request was approved some time after the clock had stopped
    const event = await eventOn("theirs");
    assert.match(event.message ?? "", /no external signer has signed/);
    await loop.stop();
  });

  it("does not report requests that an external signer has signed, or that are not approved", async () => {
    const loop = start();
    await loop.synced;
    await scene.request({ name: "undecided", signerName: "example.com/theirs", commonName: "a" });
    await scene.request({ name: "signed", signerName: "example.com/theirs", commonName: "a" });
    await scene.approve("signed");
    const stored = await scene.requests.get("signed");
    // Any certificate will do: what it says is the signer's business.
    const certificate = Buffer.from(encodePem("CERTIFICATE", authority.certificate.der)).toString("base64");
    await scene.requests.update({ ...stored, status: { ...stored.status, certificate } }, { subresource: "status" });
    await scene.request({ name: "beside-2", signerName: "platform.io/nonsense", commonName: "a" });
    await eventOn("beside-2");
    loop.time.pass(3_600_000);
    await loop.stop();
    assert.equal((await eventsOn("undecided")).length, 0);
    assert.equal((await eventsOn("signed")).length, 0);
  });
});
