import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { describe, it } from "node:test";

/**
 * What each folder of src may import besides itself: the table of the design. `registry/resource-definition` is one file.
 * Files directly in src, and `serve`, wire everything together and may import anything. `type resources`: only types, so
 * that clients know the kinds and run without them (docs/decisions/0006).
 */
const allowedImports: Readonly<Record<string, readonly string[]>> = {
  api: [],
  pki: [],
  files: [],
  schema: ["api"],
  storage: ["api", "schema/protobuf-wire"],
  authorization: ["api"],
  admission: ["api", "pki"],
  client: ["api", "type resources"],
  tokens: ["api", "pki", "schema"],
  signers: ["api", "pki"],
  authentication: ["api", "pki", "tokens", "schema"],
  registry: ["api", "storage", "schema"],
  resources: ["api", "pki", "schema", "registry/resource-definition"],
  controllers: ["api", "pki", "client", "signers", "type resources"],
  agent: ["api", "pki", "client", "files", "type resources"],
  cli: ["api", "pki", "client", "files", "signers", "type resources", "type agent"],
  server: ["api", "authentication", "authorization", "admission", "tokens", "schema", "registry/resource-definition"],
  "server/resources": ["api", "registry", "server", "schema", "storage"],
};
const wiring = new Set(["", "serve"]);

const maximumLines = 450;
const source = resolve(import.meta.dirname, "../src");

const files = readdirSync(source, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts"))
  .sort();

const textOf = (file: string): string => readFileSync(join(source, file), "utf8");
const folderOf = (file: string): string => (file.includes("/") ? (file.split("/", 1)[0] ?? "") : "");

interface Import {
  readonly path: string;
  readonly isTypeOnly: boolean;
}

const importsOf = (file: string): Import[] =>
  [...textOf(file).matchAll(/(?:^(?:import|export) (type )?[^;"]*?from |import\()"(\.[^"]+)"/gm)].map(
    ([, type, path = ""]) => ({
      path: relative(source, resolve(source, dirname(file), path)),
      isTypeOnly: type !== undefined,
    }),
  );

const isBelow = (path: string, place: string): boolean => path === `${place}.ts` || path.startsWith(`${place}/`);

/** The row of the table for a file: that of the innermost listed folder. */
const roomOf = (file: string): string =>
  Object.keys(allowedImports)
    .filter((room) => isBelow(file, room))
    .sort((one, other) => other.length - one.length)
    .at(0) ?? folderOf(file);

const mayImport = (room: string, { path, isTypeOnly }: Import): boolean =>
  isBelow(path, room) ||
  (allowedImports[room] ?? []).some((allowed) =>
    allowed.startsWith("type ") ? isTypeOnly && isBelow(path, allowed.slice("type ".length)) : isBelow(path, allowed),
  );

describe("the source", () => {
  it("imports in every folder only what the design allows", () => {
    const violations = files
      .filter((file) => !wiring.has(folderOf(file)))
      .flatMap((file) =>
        importsOf(file)
          .filter((imported) => !mayImport(roomOf(file), imported))
          .map(({ path }) => `${file} imports ${path}`),
      );
    assert.deepEqual(violations, []);
  });

  it("has every folder in the table", () => {
    const folders = new Set(files.map(folderOf).filter((folder) => !wiring.has(folder)));
    assert.deepEqual(
      [...folders].filter((folder) => !Object.hasOwn(allowedImports, folder)),
      [],
    );
  });

  it("has no file whose name could hold anything", () => {
    const vague = /^(utils?|helpers?|common|misc|shared)$/;
    const found = files.filter((file) =>
      [...dirname(file).split("/"), basename(file, ".ts")].some((part) => vague.test(part)),
    );
    assert.deepEqual(found, []);
  });

  it(`has no file longer than ${maximumLines} lines`, () => {
    assert.deepEqual(
      files.filter((file) => textOf(file).split("\n").length - 1 > maximumLines),
      [],
    );
  });
});
