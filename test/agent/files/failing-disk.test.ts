import assert from "node:assert/strict";
import { readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { writeCertificateOutput } from "../../../src/agent/files/certificate-output.ts";
import { CertificateStore } from "../../../src/agent/certificates/certificate-store.ts";
import { keyPair, parseKeyPair } from "../../../src/agent/certificates/key-pair.ts";
import type { KeyPair } from "../../../src/agent/certificates/key-pair.ts";
import { failAtCall } from "../../machinery/files/fail-at-call.ts";
import { newPair } from "../new-pair.ts";
import { outputsIn } from "./output-writer.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

it("a renewal whose disk fails once, at whatever call, leaves keys with their certificates, and is complete after the next try", () => {
  const root = temporaryFolder();
  const [before, next] = [newPair(), newPair()];
  let isReached = true;
  let number = 0;
  while (isReached) {
    const folder = join(root, String(++number));
    const pki = join(folder, "pki");
    const store = new CertificateStore(pki, "web");
    const renew = (pair: KeyPair): void => {
      store.keepPendingKey(pair.keyPem);
      store.install(pair, { now: pair === next ? 1 : 0, wantedDigest: pair.keyPem });
      for (const output of outputsIn(folder)) writeCertificateOutput(output, pair);
    };
    const inUse = (): KeyPair[] => {
      const text = (...path: string[]): string => readFileSync(join(...path), "utf8");
      const version = realpathSync(join(folder, "tls", "..data"));
      return [
        parseKeyPair(text(store.file)),
        parseKeyPair(text(folder, "web.pem")),
        keyPair({ keyPem: text(version, "tls.key"), certificatePem: text(version, "tls.crt") }),
      ];
    };
    renew(before);
    isReached = failAtCall(number, () => {
      try {
        renew(next);
      } catch (error) {
        assert.match(String(error), /disk fails|EIO/);
      }
    });
    inUse(); // throws when a key and its certificate do not belong together
    renew(next);
    assert.deepEqual(new Set(inUse().map(({ keyPem }) => keyPem)), new Set([next.keyPem]), `call ${number}`);
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
    assert.deepEqual(
      files.filter((name) => /\.new$|pending/.test(name)),
      [],
      `call ${number}`,
    );
    // The versions in use, and the ones before them.
    assert.ok(files.filter((name) => /^tls\/\.\.\d[^/]*$|^pki\/web-\d/.test(name)).length <= 4, `call ${number}`);
    const keys = files.map((name) => statSync(join(folder, name))).filter((status) => status.isFile());
    assert.deepEqual(
      keys.filter(({ mode }) => (mode & 0o077) !== 0),
      [],
      `call ${number}`,
    );
  }
  assert.ok(number > 30, `${number} calls`);
});
