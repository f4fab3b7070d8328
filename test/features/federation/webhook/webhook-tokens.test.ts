import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, it, test } from "node:test";
import type { UserInfo } from "../../../../src/machinery/api/user-info.ts";
import { askWebhook, openWebhook } from "../../../../src/features/federation/webhook/open-webhook.ts";
import { webhookTokens } from "../../../../src/features/federation/webhook/webhook-tokens.ts";
import type { WebhookAnswer } from "../../../../src/features/federation/webhook/webhook-tokens.ts";
import type { TokenCheck, VerifyToken } from "../../../../src/machinery/authentication/token-authentication.ts";
import { UnusableAnswer } from "../../../../src/machinery/client/webhooks/post-json.ts";
import { bodyText } from "../../../../src/machinery/client/transport.ts";
import type { ClientRequest } from "../../../../src/machinery/client/transport.ts";
import { sharePath } from "../../../../src/machinery/scheduling/share-path.ts";
import { ApiError } from "../../../../src/machinery/api/api-error.ts";
import { FollowedFiles } from "../../../../src/machinery/files/followed/followed-files.ts";
import { ServerFront } from "../../../agent/server-front.ts";
import { InProcess } from "../../../server/in-process.ts";
import { startTestServer } from "../../../test-server.ts";
import type { TestServer } from "../../../test-server.ts";
import { checkFor, TestClock } from "../../accounts/tokens/token-scene.ts";
import { TestIssuer } from "../issuer-scene.ts";
import { openTlsSite } from "../tls-site.ts";

const api = ["https://api.test"];
const yes: WebhookAnswer = {
  isAuthenticated: true,
  user: { username: "eve", groups: ["dev"], extra: {} },
  audiences: [],
  error: "",
};
const node: UserInfo = { username: "system:node:n1", groups: ["system:nodes"], extra: {} };
const no: WebhookAnswer = { ...yes, isAuthenticated: false };

describe("a token that a webhook checks", () => {
  let clock: TestClock;
  let questions: (readonly [token: string, audiences: readonly string[]])[];
  let changes: boolean[];
  let answer: () => Promise<WebhookAnswer>;
  let verify: VerifyToken;
  beforeEach(() => {
    clock = new TestClock();
    questions = [];
    changes = [];
    answer = async () => yes;
    verify = webhookTokens({
      ask: (token, audiences) => (questions.push([token, audiences]), answer()),
      clock,
      apiAudiences: api,
      ownIssuers: ["https://own.example.com"],
      cacheMilliseconds: 120_000,
      onChange: ({ isAvailable }) => changes.push(isAvailable),
    });
  });

  it("authenticates its user, for the requested audiences that the webhook names", async () => {
    const unaware = await verify("opaque", checkFor(["vault", ...api]));
    assert.deepEqual(unaware, { outcome: "authenticated", user: yes.user, audiences: api });
    answer = async () => ({ ...yes, audiences: ["vault"] });
    const aware = await verify("opaque", checkFor(["vault"]));
    assert.deepEqual(aware.outcome === "authenticated" && aware.audiences, ["vault"]);
    assert.equal((await verify("opaque", checkFor(["other"]))).outcome, "notApplicable");
    assert.deepEqual(questions[1], ["opaque", ["vault"]]);
  });

  it("is sent to the webhook once at a time, and again only when the cached answer is old", async () => {
    await Promise.all([verify("opaque", checkFor(api)), verify("opaque", checkFor(api))]);
    clock.passSeconds(119);
    await verify("opaque", checkFor(api));
    assert.equal(questions.length, 1);
    clock.passSeconds(1);
    answer = async () => no;
    assert.equal((await verify("opaque", checkFor(api))).outcome, "notApplicable");
    await verify("opaque", checkFor(api));
    assert.equal(questions.length, 2);
  });

  it("is checked again, and the webhook asked again, when the clock was set back", async () => {
    await verify("opaque", checkFor(api));
    clock.passSeconds(-3600);
    answer = () => Promise.reject(new Error("away"));
    for (let index = 0; index < 6; index++) assert.equal((await verify("opaque", checkFor(api))).outcome, "refused");
    assert.equal(questions.length, 6, "it pauses after five failures");
    clock.passSeconds(-3600);
    answer = async () => yes;
    assert.equal((await verify("opaque", checkFor(api))).outcome, "authenticated");
  });

  it("keeps its good answer in the cache, however many bad tokens come", async () => {
    await verify("good", checkFor(api));
    answer = async () => no;
    for (let index = 0; index < 5000; index++) await verify(`bad-${index}`, checkFor(api));
    const before = questions.length;
    assert.equal((await verify("good", checkFor(api))).outcome, "authenticated");
    assert.equal(questions.length, before);
  });

  it("is never sent to the webhook when it is this server's own, or too long", async () => {
    const own = new TestIssuer("https://own.example.com");
    const token = await own.sign({}, clock.now());
    const wrapped = token.replaceAll(/.{20}/g, "$&\n");
    const quotedPrintable = token.replaceAll(/.{20}/g, "$&=\r\n");
    const tokenRequest = JSON.stringify({ apiVersion: "authentication.platform.io/v1", status: { token } });
    const around = [`${token}\n`, `"${token}"`, `Bearer ${token}`, `${token}==`, `${token}.`, tokenRequest];
    for (const text of [token, ...around, wrapped, quotedPrintable]) {
      assert.equal((await verify(text, checkFor(api))).outcome, "notApplicable", text);
    }
    assert.equal((await verify("x".repeat(70_000), checkFor(api))).outcome, "notApplicable");
    assert.equal(questions.length, 0);
  });

  it("is refused at once after it got no answer five times, and one request finds out when the webhook works again", async () => {
    answer = () => Promise.reject(new Error("away"));
    for (let index = 0; index < 20; index++) assert.equal((await verify("opaque", checkFor(api))).outcome, "refused");
    assert.equal(questions.length, 5);
    assert.ok(!(verify("opaque", checkFor(api)) instanceof Promise), "the question is refused at once");
    clock.passSeconds(10);
    for (let index = 0; index < 3; index++) assert.equal((await verify("opaque", checkFor(api))).outcome, "refused");
    assert.equal(questions.length, 6);
    answer = async () => yes;
    clock.passSeconds(10);
    assert.equal((await verify("opaque", checkFor(api))).outcome, "authenticated");
    assert.deepEqual(changes, [false, true]);
  });

  it("is checked, however many made-up tokens get no answer", async () => {
    answer = () => Promise.reject(new Error("no answer in time"));
    for (let index = 0; index < 50; index++)
      assert.equal((await verify(`made-up-${index}`, checkFor(api))).outcome, "refused");
    answer = async () => yes;
    assert.equal((await verify("good", checkFor(api))).outcome, "authenticated");
  });

  it("is checked, however many tokens before it the webhook answered in a way that cannot be used", async () => {
    // Some webhooks answer 401 or 403 for a bad token.
    answer = () => Promise.reject(new UnusableAnswer("it answered 403"));
    for (let index = 0; index < 20; index++)
      assert.equal((await verify(`bad-${index}`, checkFor(api))).outcome, "refused");
    answer = async () => yes;
    assert.equal((await verify("good", checkFor(api))).outcome, "authenticated");
    assert.deepEqual(changes, []);
  });

  it("is not in what the webhook says of it, which is cut", async () => {
    answer = async () => ({ ...no, error: `opaque is no token; opaque: ${"x".repeat(2000)}` });
    const outcome = await verify("opaque", checkFor(api));
    assert.ok(outcome.outcome === "refused" && outcome.message.length === 1024);
    assert.match(outcome.message, /^REDACTED is no token; REDACTED: x/);
  });

  it("waits with at most 200 others for a webhook that hangs, and one more is not called bad", async () => {
    answer = () => new Promise(() => {});
    const refusals = await refusedOf(400, (index) => checkFor(api, `192.0.2.${index % 20}`));
    assert.deepEqual([...new Set(refusals.map((error) => [error.code, error.retryAfterSeconds].join()))], ["429,1"]);
    assert.ok(questions.length <= 200);
  });

  it("waits however many made-up tokens of another address wait, and so does one in a TokenReview", async () => {
    answer = () => new Promise(() => {});
    await refusedOf(400, () => checkFor(api, "192.0.2.1"));
    const waiting = questions.length;
    void verify("good", checkFor(api, "192.0.2.2"));
    void verify("reviewed", { audiences: api, asker: () => sharePath(node) });
    assert.deepEqual(questions.slice(waiting), [
      ["good", api],
      ["reviewed", api],
    ]);
  });

  /** Sends made-up tokens that are checked, and returns the errors of those that may not wait. */
  const refusedOf = async (tokens: number, check: (index: number) => TokenCheck): Promise<readonly ApiError[]> => {
    const refusals: ApiError[] = [];
    for (let index = 0; index < tokens; index++) {
      const outcome = verify(`made-up-${index}`, check(index));
      assert.ok(outcome instanceof Promise);
      outcome.catch((error: unknown) => (assert.ok(error instanceof ApiError), refusals.push(error)));
    }
    await new Promise(setImmediate);
    assert.equal(refusals.length + questions.length, tokens);
    return refusals;
  };
});

describe("a request to a webhook", () => {
  const answers = (...statuses: readonly number[]) => answersWith({ user: { username: "eve" } }, statuses);
  const answersWith = (
    fields: object,
    statuses: readonly number[] = [200],
    {
      kind = "TokenReview",
      isCut = (_request: number): boolean => false,
      parts = (body: string): readonly string[] => [body],
    } = {},
  ) => {
    const sent: ClientRequest[] = [];
    const body = JSON.stringify({ kind, status: { authenticated: true, ...fields } });
    const ask = askWebhook({
      version: "v1",
      schedule: (callback) => (setImmediate(callback), () => {}),
      transport: {
        async send(request) {
          const status = statuses[Math.min(sent.length, statuses.length - 1)] ?? 0;
          sent.push(request);
          if (status === 0) throw new Error("connect ECONNREFUSED");
          return {
            status,
            headers: {},
            body: (async function* () {
              for (const part of parts(status === 999 ? "<html>" : body)) yield Buffer.from(part);
              if (isCut(sent.length)) throw new Error("the connection ended before the answer was complete");
            })(),
          };
        },
        close: () => {},
      },
    });
    return { ask, sent };
  };

  it("is sent again after a failed connection or a 503, three times in all", async () => {
    const { ask, sent } = answers(0, 503, 201);
    assert.equal((await ask("opaque", ["a"])).user.username, "eve");
    assert.deepEqual(JSON.parse(bodyText(sent[2] ?? {}) ?? ""), {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      spec: { token: "opaque", audiences: ["a"] },
    });
    const failing = answers(503);
    await assert.rejects(failing.ask("opaque", []), /it answered 503/);
    assert.equal(failing.sent.length, 3);
  });

  it("is sent again after an answer that broke off", async () => {
    const { ask, sent } = answersWith({ user: { username: "eve" } }, [200], { isCut: (request) => request < 3 });
    assert.equal((await ask("opaque", [])).user.username, "eve");
    assert.equal(sent.length, 3);
  });

  it("may answer with null for what it does not know", async () => {
    const user = { username: "eve", uid: null, groups: null, extra: { team: null } };
    const { ask } = answersWith({ user, audiences: null, error: null });
    assert.deepEqual((await ask("opaque", [])).user, { username: "eve", groups: [], extra: { team: [] } });
  });

  it("names a user whom everybody reads alike: half of a surrogate pair is replaced", async () => {
    const user = { username: "a\ud800b", uid: "\udc00", groups: ["\ud800"], extra: { "a/\ud800": ["\ud800"] } };
    const { ask } = answersWith({ user });
    assert.deepEqual((await ask("opaque", ["a"])).user, {
      username: "a\ufffdb",
      uid: "\ufffd",
      groups: ["\ufffd"],
      extra: { "a/\ufffd": ["\ufffd"] },
    });
  });

  it("is over when the answer is too long, comes in too many parts, is nested too deeply or has too many values", async () => {
    const refused = (body: (whole: string) => readonly string[], fault: RegExp): Promise<void> =>
      assert.rejects(answersWith({ user: { username: "eve" } }, [200], { parts: body }).ask("opaque", []), (error) => {
        assert.ok(error instanceof UnusableAnswer);
        assert.match(error.message, fault);
        return true;
      });
    await refused(() => [" ".repeat(2 ** 20 + 1)], /larger than 1 MiB/);
    await refused((whole) => [...Array.from({ length: 20_000 }, () => " "), whole], /too many parts/);
    const withStatus = (status: string) => [`{"kind":"TokenReview","status":${status}}`];
    await refused(() => withStatus("[".repeat(500_000) + "]".repeat(500_000)), /nested too deeply/);
    await refused(() => withStatus(JSON.stringify(Array.from({ length: 30_000 }, () => 1.5))), /too many values/);
    const members = JSON.stringify(Array.from({ length: 30_000 }, (_, index) => ({ [`a${index}`]: 1 })));
    await refused(() => [`{"unknown":${members},"kind":"TokenReview","status":{}}`], /too many values/);
  });

  it("names nobody when values of the answer have the wrong types", async () => {
    for (const fields of [
      ...[{ audiences: "vault" }, { audiences: [5] }, { audiences: {} }, { authenticated: "true" }, { user: [] }],
      ...[{ groups: "dev" }, { groups: ["dev", 5] }, { uid: 5 }, { extra: { team: "x" } }].map((more) => ({
        user: { username: "eve", ...more },
      })),
    ]) {
      const { ask } = answersWith({ user: { username: "eve" }, ...fields });
      await assert.rejects(ask("opaque", []), UnusableAnswer, JSON.stringify(fields));
    }
  });

  it("names nobody when the answer is of another kind, or has no name for a user who is authenticated", async () => {
    const other = answersWith({ user: { username: "eve" } }, [200], { kind: "SubjectAccessReview" });
    await assert.rejects(other.ask("opaque", []), UnusableAnswer);
    for (const user of [{}, { username: "" }, { groups: ["system:masters"] }]) {
      await assert.rejects(answersWith({ user }).ask("opaque", []), UnusableAnswer);
    }
    const stranger = await answersWith({ authenticated: false, error: "who?" }).ask("opaque", []);
    assert.deepEqual([stranger.isAuthenticated, stranger.error], [false, "who?"]);
  });

  it("is not sent again after a 401", async () => {
    const { ask, sent } = answers(401);
    await assert.rejects(
      ask("opaque", []),
      (error: Error) => /401/.test(error.message) && !/opaque/.test(error.message),
    );
    assert.equal(sent.length, 1);
  });
});

test("a webhook whose handshake hangs is asked over another connection after ten seconds", async (context) => {
  const folder = mkdtempSync(join(tmpdir(), "signet-webhook-"));
  await using site = await openTlsSite();
  site.answer = (_request, response) => response.end(JSON.stringify({ kind: "TokenReview", status }));
  const status = { authenticated: true, user: { username: "eve" } };
  const front = new ServerFront(() => site.url);
  await front.open();
  front.fallSilent();
  const file = join(folder, "webhook.yaml");
  const cluster = {
    server: `${front.url}/ask`,
    "certificate-authority-data": Buffer.from(site.caCertificate).toString("base64"),
  };
  writeFileSync(
    file,
    JSON.stringify({
      clusters: [{ name: "site", cluster }],
      contexts: [{ name: "site", context: { cluster: "site" } }],
      "current-context": "site",
    }),
  );
  using followed = new FollowedFiles({ log: { info() {}, error() {} } });
  const webhook = openWebhook(
    { file, cacheMilliseconds: 0, version: "v1" },
    { clock: new TestClock(), log: { info() {}, warn() {}, error() {} }, followed, apiAudiences: api, ownIssuers: [] },
  );
  context.after(async () => {
    webhook.close();
    await front.close();
    rmSync(folder, { recursive: true });
  });
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const verified = webhook.verify("opaque", checkFor(api));
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  while (front.connections === 0) await turn();
  front.speak();
  context.mock.timers.tick(10_000);
  // The connection ends, and the next try waits for its pause, which begins some turns later.
  while (front.connections === 1) {
    await turn();
    context.mock.timers.tick(1);
  }
  assert.equal((await verified).outcome, "authenticated");
});

describe("a Signet whose token webhook is another Signet", () => {
  const folder = mkdtempSync(join(tmpdir(), "signet-webhook-"));
  let asked: TestServer;
  let server: TestServer;
  const config = join(folder, "webhook.yaml");
  const writeKubeconfig = (token: string): void => {
    const cluster = {
      server: `${asked.url}/apis/authentication.k8s.io/v1/tokenreviews`,
      "certificate-authority-data": Buffer.from(asked.caCertificates).toString("base64"),
    };
    writeFileSync(
      config,
      JSON.stringify({
        apiVersion: "v1",
        kind: "Config",
        clusters: [{ name: "other", cluster }],
        users: [{ name: "me", user: { token } }],
        contexts: [{ name: "webhook", context: { cluster: "other", user: "me" } }],
        "current-context": "webhook",
      }),
    );
  };
  before(async () => {
    asked = await startTestServer({ settings: { controllers: false } });
    writeKubeconfig(asked.adminToken);
    server = await startTestServer({
      settings: {
        controllers: false,
        "service-account-issuer": ["https://mine.example.com"],
        "authentication-token-webhook-config-file": config,
        "authentication-token-webhook-version": "v1",
        "authentication-token-webhook-cache-ttl": "0s",
      },
    });
  });
  after(async () => {
    await server.stop();
    await asked.stop();
    rmSync(folder, { recursive: true });
  });

  it("accepts the users of the other server, follows its kubeconfig, and refuses everyone when the other is gone", async () => {
    const account = "/api/v1/namespaces/default/serviceaccounts";
    const body = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "remote" } };
    await asked.client.request(account, { method: "POST", body });
    const { status } = await asked.client.request<{ status: { token: string } }>(`${account}/remote/token`, {
      method: "POST",
      body: {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: { audiences: ["https://mine.example.com"], expirationSeconds: 600 },
      },
    });
    const whoami = async (token: string): Promise<readonly [number, string]> => {
      const answer = await new InProcess(server).send("/apis/authentication.k8s.io/v1/selfsubjectreviews", {
        method: "POST",
        token,
        body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
      });
      return [answer.status, String(answer.body)];
    };
    const [code, text] = await whoami(status.token);
    assert.equal(code, 201);
    assert.match(text, /system:serviceaccount:default:remote/);
    assert.equal((await whoami("made-up"))[0], 401);
    const afterChange = async (): Promise<number> => {
      server.readFilesAgain();
      return (await whoami(status.token))[0];
    };
    writeFileSync(config, "no kubeconfig");
    assert.equal(await afterChange(), 201, "a kubeconfig that cannot be used changes nothing");
    writeKubeconfig("a-wrong-token");
    assert.equal(await afterChange(), 401);
    writeKubeconfig(asked.adminToken);
    assert.equal(await afterChange(), 201);
    await asked.stop();
    assert.equal((await whoami(status.token))[0], 401);
    assert.equal((await whoami(server.adminToken))[0], 201);
  });
});
