import assert from "node:assert/strict";
import { basename, dirname } from "node:path";
import { describe, it } from "node:test";
import { circles, sourceFiles } from "./source-graph.ts";
import type { Import } from "./source-graph.ts";

/**
 * What each folder of src may import besides itself. `type pki`: only types. `features/core/index`: that one file. An asterisk
 * stands for any feature. The assemblers put everything together and may import anything.
 */
const allowedImports: Readonly<Record<string, readonly string[]>> = {
  "machinery/api": [],
  "machinery/scheduling": ["machinery/api"],
  "machinery/logging": ["machinery/api"],
  "machinery/end-process": [],
  "machinery/files": [
    "machinery/api",
    "machinery/end-process",
    "machinery/scheduling/deletion-delays",
    "machinery/logging",
  ],
  "machinery/service-manager": ["machinery/command-line", "type machinery/logging/log"],
  "machinery/schema": ["machinery/api"],
  "machinery/grpc": ["machinery/api", "machinery/http2"],
  "machinery/storage": [
    "machinery/api",
    "machinery/logging",
    "machinery/scheduling",
    "machinery/grpc",
    "machinery/schema/protobuf/protobuf-wire",
    "machinery/files/atomic-file",
    "machinery/files/process-limit",
    "machinery/files/locks/sqlite-lock",
  ],
  "machinery/keys": ["machinery/api", "machinery/files", "machinery/storage"],
  "machinery/pkcs11": ["machinery/api", "machinery/files", "pki"],
  "machinery/tracing": ["machinery/api"],
  "machinery/registry": [
    "machinery/api",
    "machinery/scheduling",
    "machinery/schema",
    "machinery/storage",
    "machinery/tracing",
  ],
  "machinery/authentication": [
    "machinery/api",
    "machinery/scheduling/fair-share",
    "machinery/scheduling/share-path",
    "machinery/tracing",
  ],
  "machinery/authorization": ["machinery/api"],
  "machinery/expressions": ["machinery/api", "pki/names/ip-address", "pki/names/parse-url"],
  "machinery/http2": ["machinery/api/bytes", "machinery/scheduling/token-bucket"],
  // What brings requests and takes answers knows nothing of what happens between.
  "machinery/http/connections": [
    "machinery/api",
    "machinery/http2",
    "machinery/logging",
    "machinery/scheduling",
    "machinery/http/plain-text",
    "machinery/http/response",
    "machinery/http/sent-header",
  ],
  "machinery/http": [
    "machinery/api",
    "machinery/http2",
    "machinery/logging",
    "machinery/registry",
    "machinery/scheduling",
    "machinery/schema",
    "machinery/tracing",
  ],
  "machinery/client": [
    "machinery/api",
    "machinery/files/unusable-file",
    "machinery/scheduling",
    "machinery/schema/parse-json",
    "machinery/tracing",
  ],
  "machinery/audit": [
    "machinery/api",
    "machinery/client",
    "machinery/command-line",
    "machinery/files",
    "machinery/http",
    "machinery/registry",
    "machinery/scheduling",
    "machinery/schema",
  ],
  "machinery/trace-export": [
    "machinery/api",
    "machinery/audit/event-queue",
    "machinery/audit/recovery-report",
    "machinery/client/https/bound-interim-answers",
    "machinery/client/https/proxy-agent",
    "machinery/client/traced-transport",
    "machinery/command-line/settings/flag",
    "machinery/files",
    "machinery/logging",
    "machinery/tracing",
    "pki",
  ],
  "machinery/loops": [
    "machinery/api",
    "machinery/client",
    "machinery/logging",
    "machinery/registry",
    "machinery/scheduling",
    "machinery/storage",
    "machinery/tracing",
  ],
  "machinery/command-line": [
    "machinery/api",
    "machinery/client",
    "machinery/files",
    "machinery/http/yaml/yaml-to-json",
    "machinery/schema",
    "pki",
  ],
  pki: [],
  "features/core": ["machinery", "pki"],
  "features/access": ["machinery", "pki", "features/core/index"],
  "features/admission": ["machinery", "features/core/index"],
  "features/authorization": ["machinery"],
  "features/nodes": ["machinery", "pki", "features/core/index", "features/access/index"],
  "features/revocation": ["machinery", "pki"],
  "features/certificates": [
    "machinery",
    "pki",
    "features/core/index",
    "features/nodes/index",
    "features/revocation/index",
  ],
  "features/accounts": ["machinery", "pki", "features/core/index", "features/nodes/index", "features/revocation/index"],
  "features/federation": ["machinery", "pki", "features/accounts/index"],
  // Clients know the names and types of resources, and none of their schemas.
  agent: ["machinery", "pki", "features/*/resources"],
  cli: [
    "machinery",
    "pki",
    "features/*/resources",
    "features/*/commands",
    "server/settings/server-config",
    "type server/settings/encryption-settings",
    "server/settings/controller-settings",
    "server/signet-version",
    "type agent",
  ],
};
/** `library` is what other programs import. */
const assemblers = new Set(["", "library", "server"]);

const maximumLines = 450;
const files = sourceFiles("src");
/** `src/pki/pem.ts` is `pki/pem.ts`, as the table names it. */
const inSource = (path: string): string => path.replace(/^src\//, "");

const folderOf = (file: string): string => (file.includes("/") ? (file.split("/", 1)[0] ?? "") : "");
const isBelow = (path: string, place: string): boolean => {
  const named = place.startsWith("features/*/") ? path.replace(/^features\/[^/]+/, "features/*") : path;
  return named === `${place}.ts` || named.startsWith(`${place}/`);
};

/** The row of the table for a file. */
const rowOf = (file: string): string => Object.keys(allowedImports).find((row) => isBelow(file, row)) ?? folderOf(file);

function mayImport(row: string, { path, isTypeOnly }: Import): boolean {
  const target = inSource(path);
  return (
    isBelow(target, row) ||
    (allowedImports[row] ?? []).some((allowed) =>
      allowed.startsWith("type ")
        ? isTypeOnly && isBelow(target, allowed.slice("type ".length))
        : isBelow(target, allowed),
    )
  );
}

const faults = files
  .filter(({ path }) => !assemblers.has(folderOf(inSource(path))))
  .flatMap(({ path, imports }) =>
    imports
      .filter((imported) => !mayImport(rowOf(inSource(path)), imported))
      .map((imported) => ({ importer: inSource(path), imported: inSource(imported.path) })),
  );

describe("the source", () => {
  it("imports in every folder only what the design allows", () => {
    assert.deepEqual(faults, []);
  });

  it("has every folder in the table", () => {
    const unlisted = files
      .map(({ path }) => inSource(path))
      .filter((file) => !assemblers.has(folderOf(file)) && !Object.hasOwn(allowedImports, rowOf(file)));
    assert.deepEqual(unlisted, []);
  });

  it("has no circle of imports", () => {
    assert.deepEqual(circles(files, { areTypesCounted: false }), []);
  });

  it("has no circle of types", () => {
    // A feature's resources.ts names the types of its kinds, and each kind takes its own name from there.
    const counted = files.map((file) =>
      file.path.endsWith("/resources.ts")
        ? { ...file, imports: file.imports.filter(({ isTypeOnly }) => !isTypeOnly) }
        : file,
    );
    assert.deepEqual(circles(counted, { areTypesCounted: true }), []);
  });

  it("imports node:http only as types: a value costs 8 MiB of memory", () => {
    const importers = files.filter(({ text }) => /^import \{.*from "node:http"/m.test(text));
    assert.deepEqual(
      importers.map(({ path }) => path),
      [],
    );
  });

  it("ends its processes by endProcess: process.exit may wait without end", () => {
    const ending = files.filter(({ text }) => text.includes("process.exit("));
    assert.deepEqual(
      ending.map(({ path }) => path),
      ["src/machinery/end-process.ts"],
    );
  });

  it("gives no two exports the same name", () => {
    const known = new Set([
      // Both ends of the API.
      ...["DeleteOptions", "ListOptions", "WriteOptions"],
      // The words of two specifications.
      ...["Operation", "WatchEvent", "decodeStatus"],
      // A field that must be there: in a schema, and the fault when it is missing.
      "required",
    ]);
    const exported = files
      .filter(({ path }) => folderOf(inSource(path)) !== "library")
      .flatMap(({ path, exports }) => exports.map((name) => ({ name, path })));
    const places = Map.groupBy(exported, ({ name }) => name);
    assert.deepEqual(
      [...places].filter(([name, of]) => of.length > 1 && !known.has(name)),
      [],
    );
  });

  it("has only re-exports in each feature's index.ts", () => {
    const handedOn = /^(?:export (?:type )?(?:\*|\{[^}]*\}) from "[^"]+";\s*|\/\*\*[\s\S]*?\*\/\s*|\/\/.*\s*)*$/;
    const others = files.filter(
      ({ path, text }) => /^src\/features\/[^/]+\/index\.ts$/.test(path) && !handedOn.test(text),
    );
    assert.deepEqual(
      others.map(({ path }) => path),
      [],
    );
  });

  it("has no file with a vague name", () => {
    const vague = /^(utils?|helpers?|common|misc|shared)$/;
    const found = files.filter(({ path }) =>
      [...dirname(path).split("/"), basename(path, ".ts")].some((part) => vague.test(part)),
    );
    assert.deepEqual(
      found.map(({ path }) => path),
      [],
    );
  });

  it("has no file name twice, but for what each feature has", () => {
    const ofEveryFeature = new Set(["feature", "index", "resources", "settings", "commands"]);
    const names = files.map(({ path }) => basename(path, ".ts")).filter((name) => !ofEveryFeature.has(name));
    assert.deepEqual(
      names.filter((name, index) => names.indexOf(name) !== index),
      [],
    );
  });

  it(`has no file longer than ${maximumLines} lines`, () => {
    const long = files.filter(({ text }) => text.split("\n").length - 1 > maximumLines);
    assert.deepEqual(
      long.map(({ path }) => path),
      [],
    );
  });
});
