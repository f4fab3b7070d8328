import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { dependencies } from "../../tools/package/licences.ts";

/** Licences that ask for no more than their text and the authors' names. */
const permissive = new Set(["Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"]);

it("every installed package has a licence that lets anyone use and redistribute it", () => {
  const installed = dependencies();
  assert.ok(installed.some(({ name }) => name === "lmdb"));
  assert.deepEqual(
    installed.filter(({ licence }) => !permissive.has(licence)),
    [],
  );
});

const root = join(import.meta.dirname, "../..");

it("the bill of materials has the packages of the lock file, each with its licence and hash, and no other", () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["tools/package/sbom.ts"], {
    cwd: root,
    encoding: "utf8",
  });
  assert.equal(status, 0, stderr);
  interface Component {
    readonly purl: string;
    readonly licenses: readonly [{ readonly license: { readonly id: string } }];
    readonly hashes: readonly { readonly alg: string }[];
  }
  const { components } = JSON.parse(stdout) as { readonly components: readonly Component[] };
  assert.deepEqual(
    components.map(({ purl, licenses: [{ license }] }) => `${decodeURIComponent(purl)} ${license.id}`).toSorted(),
    dependencies()
      .map(({ name, version, licence }) => `pkg:npm/${name}@${version} ${licence}`)
      .toSorted(),
  );
  assert.ok(components.every(({ hashes }) => hashes.some(({ alg }) => alg === "SHA-512")));
});

it("the licences of the lock file are those that the installed packages name", () => {
  const installed = dependencies().filter(({ name }) => existsSync(join(root, "node_modules", name, "package.json")));
  assert.ok(installed.length > 10);
  for (const { name, version, licence } of installed) {
    const text = readFileSync(join(root, "node_modules", name, "package.json"), "utf8");
    const stated = JSON.parse(text) as { readonly version: string; readonly license?: string };
    if (stated.version === version) assert.equal(stated.license, licence, name);
  }
});
