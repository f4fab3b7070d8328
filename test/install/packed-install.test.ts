/**
 * What a user has after the README's block, in a folder that knows nothing of the checkout, on the machine's own Node.js.
 * `npm run test:front-page` pastes the block into each shell on each Node.js.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash, createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { javaClassPath, python, whyNot } from "../clients/client-programs.ts";
import { comparable } from "../documents/console-blocks.ts";
import { frontPage } from "../documents/front-page.ts";
import { installPacked, serveInstalled } from "./packed-install.ts";
import type { InstalledServer, PackedInstall } from "./packed-install.ts";

const root = join(import.meta.dirname, "../..");
const robots = "testing/typescript/robots.test.ts";

describe("the packed install", () => {
  let install: PackedInstall;
  let server: InstalledServer;
  before(async () => {
    install = installPacked();
    server = await serveInstalled(install);
  });
  after(async () => {
    await server?.stop();
    install?.remove();
  });

  it("comes from the README's block, which goes from a clone to a token and a certificate, and prints what the page shows", () => {
    assert.equal(comparable(install.output), comparable(frontPage().output), install.transcript);
    assert.match(readFileSync(join(install.folder, "robot.token"), "utf8"), /^eyJ/);
    const certificate = new X509Certificate(readFileSync(join(install.folder, "ann.crt")));
    assert.equal(certificate.subject, "O=dev\nCN=ann");
    assert.ok(certificate.checkPrivateKey(createPrivateKey(readFileSync(join(install.folder, "ann.key")))));
  });

  const hasZsh = spawnSync("zsh", ["-c", "true"]).status === 0;
  it("comes from a block that zsh can read too", { skip: !hasZsh && "zsh is not installed" }, () => {
    const { status, stderr } = spawnSync("zsh", ["-n"], { input: frontPage().block, encoding: "utf8" });
    assert.deepEqual([status, stderr], [0, ""]);
  });

  it("holds JavaScript with types and the manual, and neither TypeScript nor tests", () => {
    const files = install.run("tar", "--list", "--file", install.tarball).trim().split("\n");
    for (const needed of ["main.js", "man/signet.1", "man/signet-csr-create.1"]) {
      assert.ok(files.includes(`package/dist/${needed}`), needed);
    }
    assert.deepEqual(
      files.filter(
        (file) => !/^package\/(?:dist\/.+\.(?:js|d\.ts|1)|bin\/signet|package\.json|README\.md|LICENSE)$/.test(file),
      ),
      [],
    );
  });

  it("is packed to the same bytes each time", () => {
    const again = join(install.folder, "again");
    install.run("mkdir", again);
    const packed = install.run("npm", "pack", "--silent", "--pack-destination", again, root);
    const hash = (file: string): string => createHash("sha256").update(readFileSync(file)).digest("hex");
    assert.equal(hash(join(again, packed.trim().split("\n").at(-1) ?? "")), hash(install.tarball));
  });

  it(
    "runs on the runtime that came along, in the process that was started",
    { skip: process.platform !== "linux" },
    () => {
      const program = readlinkSync(`/proc/${server.process.pid}/exe`);
      assert.match(program, new RegExp(`^${install.folder}/node_modules/node-linux-[^/]+/bin/node$`));
    },
  );

  it("is imported with its types", () => {
    install.run("npm", "pkg", "set", "type=module");
    install.run("cp", "-r", join(root, "examples/custom-signer.ts"), join(root, "examples/testing"), install.folder);
    const options = ["--noEmit", "--strict", "--module", "nodenext", "--allowImportingTsExtensions"];
    const types = ["--types", "node", "--typeRoots", join(root, "node_modules/@types"), "--target", "es2024"];
    const lib = ["--lib", "es2024,esnext.disposable"];
    install.run(join(root, "node_modules/.bin/tsc"), ...options, ...types, ...lib, "custom-signer.ts", robots);
  });

  it("runs the example in TypeScript", () => {
    assert.match(install.run(join(install.folder, "node_modules/.bin/node"), "--test", robots), /^. pass 1$/m);
  });

  for (const { language, client, command } of [
    {
      language: "Go",
      client: "sigs.k8s.io/controller-runtime",
      command: ["env", "GOPROXY=off", "GOFLAGS=-mod=readonly", "go", "test", "-vet=off", "-count=1", "./..."],
    },
    {
      language: "Python",
      client: "kubernetes (Python)",
      command: [python(), "-m", "pytest", "-q", "-p", "no:cacheprovider"],
    },
    {
      language: "Java",
      client: "io.fabric8:kubernetes-client (Java)",
      command: ["java", "-cp", javaClassPath, "SignetTest.java"],
    },
  ]) {
    it(`runs the example in ${language} with its client`, { skip: whyNot(client) }, () => {
      const inFolder = 'PATH="$PWD/node_modules/.bin:$PATH"; cd "testing/$1" && shift && exec "$@"';
      install.run("sh", "-c", inFolder, "sh", language.toLowerCase(), ...command);
    });
  }

  it("stops cleanly on a signal", async () => {
    assert.equal(await server.stop(), 0);
  });
});
