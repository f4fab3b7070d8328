import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { followOperatorKeys } from "../../../../src/features/accounts/keys/operator-keys.ts";
import { parseTokenSigningKey } from "../../../../src/features/accounts/tokens/token-key.ts";
import { FollowedFiles } from "../../../../src/machinery/files/followed/followed-files.ts";
import type { FollowedSetting } from "../../../../src/machinery/files/followed/followed-value.ts";
import { newKeyPem } from "../tokens/token-scene.ts";
import { temporaryFolder } from "../../../temporary-folder.ts";

it("the operator's keys are those of the files as they are followed from, also when a file is replaced at the start", () => {
  const folder = mkdtempSync(join(tmpdir(), "signet-operator-keys-"));
  const signingKey = join(folder, "signing.pem");
  const replaced = newKeyPem.ES256();
  writeFileSync(signingKey, newKeyPem.ES256(), { mode: 0o600 });
  const log = { info: () => {}, error: () => {} };
  class ReplacingFiles extends FollowedFiles {
    override follow<T>(setting: FollowedSetting<T>): () => T {
      writeFileSync(signingKey, replaced);
      return super.follow(setting);
    }
  }
  try {
    using followed = new ReplacingFiles({ log });
    const keys = followOperatorKeys({ signingKey, verificationKeyFiles: [] }, { followed, log });
    assert.deepEqual(
      keys.current().verification.map(({ kid }) => kid),
      [parseTokenSigningKey(replaced).kid],
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

describe("a new signing key of the operator", () => {
  const folder = temporaryFolder();
  const [signing, verifying] = [join(folder, "signing.pem"), join(folder, "verifying.pem")];
  const [first, second, other] = [newKeyPem.ES256(), newKeyPem.ES256(), newKeyPem.ES256()] as const;

  /** What is logged when `second` replaces `first`. */
  function loggedWith(verificationKey: string): unknown[] {
    writeFileSync(signing, first, { mode: 0o600 });
    writeFileSync(verifying, verificationKey);
    const logged: unknown[] = [];
    const log = { info: () => {}, error: (fields: unknown) => void logged.push(fields) };
    using followed = new FollowedFiles({ log });
    const keys = followOperatorKeys({ signingKey: signing, verificationKeyFiles: [verifying] }, { followed, log });
    writeFileSync(signing, `${second}\n`);
    followed.refresh({ isForced: false });
    assert.equal(keys.current().verification[0]?.kid, parseTokenSigningKey(second).kid);
    return logged;
  }

  it("is warned of when no file has the key before it, whose tokens are refused then", () => {
    assert.deepEqual(loggedWith(other), [{ key: parseTokenSigningKey(first).kid }]);
  });

  it("is no fault when a file has the key before it", () => {
    assert.deepEqual(loggedWith(first + other), []);
  });
});
