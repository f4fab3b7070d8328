/**
 * Makes a Debian package for this machine's architecture: npm run package:deb -- [FOLDER]. Packages come from npm's cache or
 * registry, by the lock file. The same commit makes the same bytes.
 */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { completionScript } from "../../src/cli/completion/completion-script.ts";
import { signetWithoutPrograms } from "../reference/leaf-commands.ts";
import { debianArchitecture, writeDebianPackage } from "./debian-package.ts";
import type { DebianTree } from "./debian-package.ts";
import { licenceList } from "./licences.ts";
import { manPages } from "./man-pages.ts";
import { writeProgramFolder } from "./program-folder.ts";

const root = join(import.meta.dirname, "../..");

const file = await writeDebianPackage(
  {
    name: "signet",
    architecture: debianArchitecture(),
    depends: "libc6 (>= 2.34), libatomic1, libgcc-s1, libstdc++6, procps",
    suggests: "signet-agent",
    description: `identity and certificates with Kubernetes' API, without a cluster
 Service accounts and their tokens, certificate requests that are approved and
 signed, trust bundles, and RBAC. kubectl and the client libraries of Kubernetes
 work with it. The runtime, Node.js, is part of the package.`,
    configuration: ["/etc/signet/server.yaml"],
    scripts: "debian",
    async fill(tree) {
      await writeProgramFolder(join(tree.folder, "usr/lib/signet"));
      tree.link("usr/bin/signet", "../lib/signet/bin/signet");
      addSystemFiles(tree);
      addDocuments(tree);
    },
  },
  resolve(process.argv[2] ?? "."),
);
console.log(file);

function addSystemFiles({ copy, write }: DebianTree): void {
  for (const unit of ["signet.service", "signet.socket"]) copy(`systemd/${unit}`, `usr/lib/systemd/system/${unit}`);
  copy("debian/sysusers.conf", "usr/lib/sysusers.d/signet.conf");
  copy("debian/server.yaml", "etc/signet/server.yaml");
  const program = signetWithoutPrograms();
  write("usr/share/bash-completion/completions/signet", completionScript("bash", program));
  write("usr/share/zsh/vendor-completions/_signet", completionScript("zsh", program));
  write("usr/share/fish/vendor_completions.d/signet.fish", completionScript("fish", program));
}

function addDocuments({ write }: DebianTree): void {
  for (const [page, text] of manPages(signetWithoutPrograms())) {
    // The package signet-agent has these files, and a file can be in only one package.
    if (/^signet-agent[-.]/.test(page)) continue;
    write(`usr/share/man/man1/${page}.gz`, gzipSync(text, { level: 9 }));
  }
  const licence = readFileSync(join(root, "LICENSE"), "utf8");
  write(
    "usr/share/doc/signet/copyright",
    `${licence}\n\nThe package holds these others, each with its licence in /usr/lib/signet/node_modules:\n\n${licenceList()}`,
  );
}
