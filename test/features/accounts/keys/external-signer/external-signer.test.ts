import assert from "node:assert/strict";
import { createPublicKey, sign } from "node:crypto";
import { describe, it } from "node:test";
import pino from "pino";
import { ApiError } from "../../../../../src/machinery/api/api-error.ts";
import { GrpcError, grpcStatus } from "../../../../../src/machinery/grpc/grpc-error.ts";
import {
  readPublishedKeys,
  SignerFault,
} from "../../../../../src/features/accounts/keys/external-signer/check-signer-answers.ts";
import { ExternalSigner } from "../../../../../src/features/accounts/keys/external-signer/external-signer.ts";
import type { ExternalSignerClient } from "../../../../../src/features/accounts/keys/external-signer/external-signer-client.ts";
import type {
  FetchedKey,
  FetchKeysAnswer,
} from "../../../../../src/features/accounts/keys/external-signer/external-signer-messages.ts";
import { TestClock } from "../../tokens/token-scene.ts";
import { newSignerKey } from "./jwt-signer.ts";
import type { SignerKey } from "./jwt-signer.ts";
import { turnsDuring } from "../../../../turns-during.ts";

const fetched = ({ kid, privateKey, isExcluded = false }: SignerKey): FetchedKey => ({
  keyId: kid,
  spki: createPublicKey(privateKey).export({ type: "spki", format: "der" }),
  isExcludedFromDiscovery: isExcluded,
});

const sharedKey = newSignerKey("shared");
const answerOf = (...keys: readonly SignerKey[]): FetchKeysAnswer => ({
  keys: keys.map((key) => fetched(key)),
  dataTimestampSeconds: 1,
  refreshHintSeconds: 60,
});

/** A signer in this process. */
class FakeSigner implements ExternalSignerClient {
  key = newSignerKey("first");
  published: () => Promise<FetchKeysAnswer> = () => Promise.resolve(answerOf(this.key));
  header: object | string = { alg: "ES256", kid: "first", typ: "JWT" };
  fetches = 0;
  signs = 0;
  signed: (claims: string) => Promise<{ header: string; signature: string }> = (claims) => {
    const { header: wanted } = this;
    const header = typeof wanted === "string" ? wanted : Buffer.from(JSON.stringify(wanted)).toString("base64url");
    const key = { key: this.key.privateKey, dsaEncoding: "ieee-p1363" as const };
    const signature = sign("sha256", Buffer.from(`${header}.${claims}`), key).toString("base64url");
    return Promise.resolve({ header, signature });
  };

  sign(claims: string): ReturnType<ExternalSignerClient["sign"]> {
    this.signs += 1;
    return this.signed(claims);
  }

  fetchKeys(): Promise<FetchKeysAnswer> {
    this.fetches += 1;
    return this.published();
  }

  metadata(): ReturnType<ExternalSignerClient["metadata"]> {
    return Promise.resolve({ maximumTokenExpirationSeconds: 3600 });
  }

  close(): void {}
}

async function openScene() {
  const client = new FakeSigner();
  const clock = new TestClock();
  const lines: string[] = [];
  const log = pino({ base: null, timestamp: false }, { write: (line) => void lines.push(line) });
  const pausing = { meanwhile: (): void => {} };
  const pause = (milliseconds: number): Promise<void> => {
    clock.milliseconds += milliseconds;
    pausing.meanwhile();
    return Promise.resolve();
  };
  const signer = await ExternalSigner.open({
    socket: "/run/signer.sock",
    client,
    clock,
    pause,
    log,
    observer: undefined,
  });
  const sealed = (): Promise<string> => signer.signToken({ sub: "robot" });
  const refused = (): Promise<void> =>
    assert.rejects(sealed(), (error) => error instanceof ApiError && error.code === 503);
  return { client, clock, lines, pausing, signer, sealed, refused };
}

const silence = (): Promise<never> =>
  Promise.reject(new GrpcError("it did not answer", { code: grpcStatus.deadlineExceeded, mayHaveRun: true }));

describe("an external signer", () => {
  it("produces tokens of its header, this server's claims and its signature", async () => {
    const { sealed } = await openScene();
    const [header = "", claims = ""] = (await sealed()).split(".");
    assert.deepEqual(JSON.parse(Buffer.from(claims, "base64url").toString()), { sub: "robot" });
    assert.deepEqual(JSON.parse(Buffer.from(header, "base64url").toString()), {
      alg: "ES256",
      kid: "first",
      typ: "JWT",
    });
  });

  for (const [what, header, reason] of [
    ["of another type", { alg: "ES256", kid: "first", typ: "at+jwt" }, /another typ than JWT/],
    ["without a key id", { alg: "ES256", typ: "JWT" }, /names no key/],
    ["with an endless key id", { alg: "ES256", kid: "k".repeat(1025), typ: "JWT" }, /longer than 1 KiB/],
    ["with another algorithm", { alg: "HS256", kid: "first", typ: "JWT" }, /use RS256, ES256, ES384 or ES512/],
    ["with the algorithm of another key", { alg: "ES384", kid: "first", typ: "JWT" }, /not one of the key/],
    ["with more members", { alg: "ES256", kid: "first", typ: "JWT", crit: [] }, /more members/],
    ["that is no JSON", "bm8", /not base64url of a JSON object/],
    ["that is longer than any", "e".repeat(5000), /too long/],
  ] as const) {
    it(`cannot sign with a header ${what}`, async () => {
      const { client, refused, lines } = await openScene();
      client.header = header;
      await refused();
      assert.match(lines.join(), reason);
    });
  }

  for (const [what, respell, reason] of [
    ["that is empty", () => "", /has no signature/],
    ["with padding", (signature: string) => `${signature}==`, /not base64url without padding/],
    [
      "that is longer than any",
      (signature: string) => signature + "A".repeat(5000),
      /signature of its token is too long/,
    ],
  ] as const) {
    it(`has a signature refused ${what}`, async () => {
      const { client, refused, lines } = await openScene();
      const { signed } = client;
      client.signed = async (claims) => {
        const answer = await signed(claims);
        return { ...answer, signature: respell(answer.signature) };
      };
      await refused();
      assert.match(lines.join(), reason);
    });
  }

  it("has a signature refused that another key has made than it says", async () => {
    const { client, refused, lines } = await openScene();
    client.published = () => Promise.resolve(answerOf(newSignerKey("first")));
    client.key = newSignerKey("first");
    await refused();
    assert.match(lines.join(), /not one of the key/);
  });

  it("has a key refused that it does not publish or excludes from discovery", async () => {
    const { client, refused, lines } = await openScene();
    client.header = { alg: "ES256", kid: "second", typ: "JWT" };
    await refused();
    assert.match(lines.join(), /which it does not publish/);
    const excluded = newSignerKey("second", true);
    client.published = () => Promise.resolve(answerOf(client.key, excluded));
    await refused();
    assert.match(lines.join(), /which it excludes from discovery/);
  });

  it("may sign with a new key, which is then read again", async () => {
    const { client, sealed, signer } = await openScene();
    client.key = newSignerKey("second");
    client.header = { alg: "ES256", kid: "second", typ: "JWT" };
    let changes = 0;
    signer.onChange(() => (changes += 1));
    assert.equal((await sealed()).split(".").length, 3);
    assert.equal(client.fetches, 2);
    assert.equal(changes, 1);
    assert.deepEqual(
      signer.current().verification.map(({ kid }) => kid),
      ["second"],
    );
  });

  it("may sign with a new key while its keys are read, which are then read once more", async () => {
    const { client, clock, sealed, signer } = await openScene();
    const answers: ((answer: FetchKeysAnswer) => void)[] = [];
    client.published = () => new Promise((resolve) => answers.push(resolve));
    clock.passSeconds(60);
    const polled = signer.pollWhenDue();
    const before = answerOf(client.key);
    client.key = newSignerKey("first");
    const token = sealed();
    await new Promise((resolve) => setImmediate(resolve));
    client.published = () => Promise.resolve(answerOf(client.key));
    answers.shift()?.(before);
    await polled;
    assert.equal((await token).split(".").length, 3);
    assert.equal(client.fetches, 3);
  });

  it("has its keys read once a second, however many tokens it signs with a key that it does not publish", async () => {
    const { client, clock, refused } = await openScene();
    client.key = newSignerKey("second");
    client.published = () => Promise.resolve(answerOf(sharedKey));
    const opened = clock.now();
    await Promise.all(Array.from({ length: 20 }, () => refused()));
    assert.deepEqual([client.fetches, clock.now() - opened], [2, 1000]);
    await refused();
    assert.deepEqual([client.fetches, clock.now() - opened], [3, 2000]);
  });

  it("may sign with a new key under the id of the old one, which is then read again", async () => {
    const { client, sealed, signer } = await openScene();
    client.key = newSignerKey("first");
    const token = await sealed();
    const [signedPart, signature = ""] = [token.slice(0, token.lastIndexOf(".")), token.split(".").at(-1)];
    const by = signer
      .current()
      .verification.map((key) => key.verifies(Buffer.from(signedPart), Buffer.from(signature, "base64url")));
    assert.deepEqual(by, [true]);
    assert.equal(client.fetches, 2);
  });

  it("has its keys kept while it is unreachable, which is logged once, and is asked again after 10 s", async () => {
    const { client, clock, lines, signer } = await openScene();
    clock.passSeconds(59);
    await signer.pollWhenDue();
    assert.equal(client.fetches, 1);
    client.published = silence;
    clock.passSeconds(1);
    await signer.pollWhenDue();
    await signer.pollWhenDue();
    assert.equal(client.fetches, 2);
    clock.passSeconds(10);
    await signer.pollWhenDue();
    assert.equal(client.fetches, 3);
    assert.equal(signer.current().verification.length, 1);
    assert.equal(lines.length, 1);
    client.published = () => Promise.resolve(answerOf(client.key, newSignerKey("second")));
    clock.passSeconds(10);
    await signer.pollWhenDue();
    assert.equal(signer.current().verification.length, 2);
    assert.match(lines.join("\n"), /works again/);
  });

  it("that publishes other keys at each look does not fill the log", async () => {
    const { client, clock, lines, signer } = await openScene();
    for (const name of ["a", "b", "c"]) {
      const ids = Array.from({ length: 100 }, (_, index) => name.repeat(1000) + index);
      client.published = () => Promise.resolve(answerOf(...ids.map((kid) => ({ ...sharedKey, kid }))));
      clock.milliseconds += 60_000;
      await signer.pollWhenDue();
      assert.equal(signer.current().verification[0]?.kid, ids[0]);
    }
    assert.match(lines.join(), /^[^\n]{1,1000}publishes other keys[^\n]*\n$/);
  });

  it("that does not answer is asked by one request a second, while others fail at once, until it answers", async () => {
    const { client, clock, refused, sealed } = await openScene();
    const works = client.signed;
    client.signed = silence;
    await refused();
    await refused();
    assert.equal(client.signs, 1);
    clock.passSeconds(1);
    await refused();
    assert.equal(client.signs, 2);
    clock.passSeconds(1);
    let answer = (): void => {};
    client.signed = (claims) => new Promise((resolve) => (answer = () => resolve(works(claims))));
    const probe = sealed();
    await refused();
    assert.equal(client.signs, 3);
    answer();
    await probe;
    client.signed = works;
    await Promise.all([sealed(), sealed()]);
  });

  it("is asked again after an hour, whatever it says", async () => {
    const { client, clock, signer } = await openScene();
    client.published = () => Promise.resolve({ ...answerOf(client.key), refreshHintSeconds: 10 ** 15 });
    clock.milliseconds += 60_000;
    await signer.pollWhenDue();
    const before = client.fetches;
    clock.milliseconds += 3_599_000;
    await signer.pollWhenDue();
    assert.equal(client.fetches, before);
    clock.milliseconds += 1_000;
    await signer.pollWhenDue();
    assert.equal(client.fetches, before + 1);
  });

  it("is asked again at once after the clock was set back", async () => {
    const { client, clock, signer, sealed, refused } = await openScene();
    const { signed } = client;
    client.signed = silence;
    await refused();
    client.signed = signed;
    clock.passSeconds(-3600);
    await signer.pollWhenDue();
    assert.equal(client.fetches, 2);
    await sealed();
  });

  it("is asked for an unknown key once a second, however many tokens name one", async () => {
    const { client, clock, signer } = await openScene();
    assert.equal(signer.learn("first"), undefined);
    const opened = clock.now();
    await Promise.all(Array.from({ length: 100 }, async (_, index) => signer.learn(`unknown ${index}`)));
    assert.deepEqual([client.fetches, clock.now() - opened], [2, 1000]);
    await signer.learn("unknown");
    assert.deepEqual([client.fetches, clock.now() - opened], [3, 2000]);
  });

  it("is asked again for a key that it made while it was asked, so that the token of another process is not refused", async () => {
    const { client, clock, signer } = await openScene();
    clock.passSeconds(1);
    const answer = Promise.withResolvers<FetchKeysAnswer>();
    client.published = () => answer.promise;
    const early = signer.learn("unknown");
    await Promise.resolve();
    const made = newSignerKey("made meanwhile");
    const late = signer.learn(made.kid);
    client.published = () => Promise.resolve(answerOf(client.key, made));
    answer.resolve(answerOf(client.key));
    await Promise.all([early, late]);
    assert.ok(signer.current().verification.some(({ kid }) => kid === made.kid));
  });

  it("is asked again for a key that it made after a look that was due had begun", async () => {
    const { client, clock, pausing, signer } = await openScene();
    const answer = Promise.withResolvers<FetchKeysAnswer>();
    const made = newSignerKey("made meanwhile");
    let late: Promise<void> | undefined;
    pausing.meanwhile = () => {
      clock.passSeconds(24 * 3600);
      client.published = () => answer.promise;
      void signer.pollWhenDue();
      late = signer.learn(made.kid);
      client.published = () => Promise.resolve(answerOf(client.key, made));
      answer.resolve(answerOf(client.key));
    };
    await signer.learn("unknown");
    await late;
    assert.ok(signer.current().verification.some(({ kid }) => kid === made.kid));
  });

  it("has its keys read in turns of the event loop", async (t) => {
    let milliseconds = 0;
    t.mock.method(performance, "now", () => (milliseconds += 10)); // each key takes longer than a turn
    const turns = await turnsDuring(async () => {
      const { keys } = await readPublishedKeys(answerOf(...Array.from({ length: 50 }, () => sharedKey)));
      assert.equal(keys.length, 50);
    });
    assert.ok(turns >= 49, `${turns} turns`);
  });

  for (const [what, change, reason] of [
    ["no keys", { keys: [] }, /no keys/],
    [
      "a key more than a thousand",
      { keys: Array.from({ length: 1001 }, () => fetched(sharedKey)) },
      /1001 keys: 1000 at most/,
    ],
    ["no refresh hint", { refreshHintSeconds: 0 }, /refresh hint is 0 s/],
    ["no timestamp", { dataTimestampSeconds: undefined }, /data_timestamp/],
    ["a key without id", { keys: [{ ...fetched(newSignerKey("x")), keyId: "" }] }, /has 0 bytes/],
    [
      "a key with an endless id",
      { keys: [{ ...fetched(newSignerKey("x")), keyId: "k".repeat(1025) }] },
      /has 1025 bytes/,
    ],
    ["an invalid key", { keys: [{ ...fetched(newSignerKey("x")), spki: Buffer.from("x") }] }, /can't be used/],
  ] as const) {
    it(`may not publish ${what}`, async () => {
      await assert.rejects(
        readPublishedKeys({ ...answerOf(newSignerKey("first")), ...change }),
        (error) => error instanceof SignerFault && reason.test(error.message),
      );
    });
  }
});
