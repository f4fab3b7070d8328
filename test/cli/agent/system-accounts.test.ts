import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import type { TestContext } from "node:test";
import { parseAgentConfiguration } from "../../../src/cli/agent/agent-configuration.ts";
import { shellWord } from "../../../src/machinery/command-line/output/shell-word.ts";

/** Puts a getent(1) in the way that knows a user and a group. Returns what it was asked for. */
function fakeDirectory(context: TestContext): () => readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), "signet-accounts-"));
  const asked = join(folder, "asked");
  const script = `#!/bin/sh
echo "$*" >> ${shellWord(asked)}
case "$*" in
  "passwd web") echo web:x:4711:4712::/:/bin/sh ;;
  "group web") echo web:x:4713: ;;
  *) exit 2 ;;
esac
`;
  writeFileSync(join(folder, "getent"), script, { mode: 0o755 });
  const path = process.env["PATH"];
  process.env["PATH"] = [folder, path].join(delimiter);
  context.after(() => {
    process.env["PATH"] = path;
    rmSync(folder, { recursive: true });
  });
  return () => readFileSync(asked, "utf8").trimEnd().split("\n");
}

const configuration = (...owners: readonly string[]): string => `
apiVersion: signet.platform.io/v1
kind: AgentConfiguration
certificates:
${owners
  .map(
    (owner, at) =>
      `  - { name: c${at}, signer: s, dnsNames: [a], files: [{ pem: f${at}, owner: ${owner}, group: web }] }`,
  )
  .join("\n")}
`;

test("users and groups of a directory service are asked for once, for however many files they are named", (context) => {
  const asked = fakeDirectory(context);
  const { certificates } = parseAgentConfiguration(configuration("web", "web", "web"), "/etc/signet");
  assert.deepEqual(
    certificates.map(({ outputs }) => outputs[0]?.ownership),
    Array.from({ length: 3 }, () => ({ mode: 0o600, uid: 4711, gid: 4713 })),
  );
  assert.deepEqual(asked(), ["passwd web", "group web"]);
});

test("a user that is not there is asked for once, and each file that names it is a fault", (context) => {
  const asked = fakeDirectory(context);
  assert.throws(
    () => parseAgentConfiguration(configuration("gone", "gone"), "/etc/signet"),
    /certificates\[0\]\.files\[0\]\.owner: there is no user "gone".*certificates\[1\]\.files\[0\]\.owner: there is no user "gone"/s,
  );
  assert.deepEqual(asked(), ["passwd gone", "group web"]);
});
