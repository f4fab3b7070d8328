/**
 * Makes a Debian package for this machine's architecture: npm run package:deb -- [FOLDER]. Packages come from npm's cache or
 * registry, by the lock file. The same commit makes the same bytes.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { completionScript } from "../../src/cli/completion/completion-script.ts";
import { signetVersion } from "../../src/server/signet-version.ts";
import { describedProgram } from "../reference/leaf-commands.ts";
import { licenceList } from "./licences.ts";
import { manPages } from "./man-pages.ts";
import { writeProgramFolder } from "./program-folder.ts";

const root = join(import.meta.dirname, "../..");
const packaging = join(root, "packaging");

function run(
  program: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly epoch?: string } = {},
): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd: options.cwd ?? root,
    encoding: "utf8",
    env: { ...process.env, ...(options.epoch !== undefined && { SOURCE_DATE_EPOCH: options.epoch }) },
  });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} failed`, { cause: error ?? `${stdout}${stderr}` });
  return stdout;
}

/** Modes of files do not depend on who builds. */
process.umask(0o022);
const output = resolve(process.argv[2] ?? ".");
const architecture = run("dpkg", ["--print-architecture"]).trim();
const file = join(output, `signet_${signetVersion}_${architecture}.deb`);
const tree = mkdtempSync(join(tmpdir(), "signet-deb-"));
try {
  chmodSync(tree, 0o755);
  writeProgramFolder(join(tree, "usr/lib/signet"));
  mkdirSync(join(tree, "usr/bin"), { recursive: true });
  symlinkSync("../lib/signet/bin/signet", join(tree, "usr/bin/signet"));
  addSystemFiles();
  addDocuments();
  addControl();
  mkdirSync(output, { recursive: true });
  const epoch = process.env["SOURCE_DATE_EPOCH"] ?? run("git", ["log", "-1", "--format=%ct"]).trim();
  run("dpkg-deb", ["--root-owner-group", "-Zzstd", "-z9", "--threads-max=1", "--build", tree, file], { epoch });
  console.log(file);
} finally {
  rmSync(tree, { recursive: true, force: true });
}

function write(path: string, contents: string | Uint8Array, mode = 0o644): void {
  const target = join(tree, path);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, contents, { mode });
}

function copy(source: string, path: string, mode = 0o644): void {
  write(path, readFileSync(join(packaging, source)), mode);
}

function addSystemFiles(): void {
  for (const unit of ["signet.service", "signet.socket", "signet-agent.service"]) {
    copy(`systemd/${unit}`, `usr/lib/systemd/system/${unit}`);
  }
  copy("debian/sysusers.conf", "usr/lib/sysusers.d/signet.conf");
  copy("debian/server.yaml", "etc/signet/server.yaml");
  copy("debian/agent.yaml", "etc/signet/agent.yaml");
  write("etc/signet/bootstrap-token", "", 0o600);
  const program = describedProgram();
  write("usr/share/bash-completion/completions/signet", completionScript("bash", program));
  write("usr/share/zsh/vendor-completions/_signet", completionScript("zsh", program));
  write("usr/share/fish/vendor_completions.d/signet.fish", completionScript("fish", program));
}

function addDocuments(): void {
  for (const [page, text] of manPages()) write(`usr/share/man/man1/${page}.gz`, gzipSync(text, { level: 9 }));
  const licence = readFileSync(join(root, "LICENSE"), "utf8");
  write(
    "usr/share/doc/signet/copyright",
    `${licence}\n\nThe package holds these others, each with its licence in /usr/lib/signet/node_modules:\n\n${licenceList()}`,
  );
  write("usr/share/doc/signet/node-agent.md", readFileSync(join(root, "docs/node-agent.md")));
  write("usr/share/doc/signet/changelog.gz", gzipSync(readFileSync(join(root, "CHANGELOG.md")), { level: 9 }));
}

function addControl(): void {
  const kibibytes = run("du", ["--summarize", "--apparent-size", "--block-size=1024", tree]).split("\t", 1)[0] ?? "0";
  write(
    "DEBIAN/control",
    `Package: signet
Version: ${signetVersion}
Architecture: ${architecture}
Maintainer: The Signet authors <signet@localhost>
Installed-Size: ${kibibytes}
Depends: libc6 (>= 2.34), libatomic1, libgcc-s1, libstdc++6
Recommends: systemd
Section: admin
Priority: optional
Description: identity and certificates with Kubernetes' API, without a cluster
 Service accounts and their tokens, certificate requests that are approved and
 signed, trust bundles, RBAC, and a node agent. kubectl and the client libraries
 of Kubernetes work with it. The runtime, Node.js, is part of the package.
`,
  );
  const configuration = ["server.yaml", "agent.yaml", "bootstrap-token"].map((name) => `/etc/signet/${name}\n`);
  write("DEBIAN/conffiles", configuration.join(""));
  for (const script of ["postinst", "prerm", "postrm"]) copy(`debian/${basename(script)}`, `DEBIAN/${script}`, 0o755);
}
