/**
 * Makes the agent's own packages: npm run package:agent -- [FOLDER]
 *
 *   signet-agent_VERSION_all.deb     for the machine's own Node.js
 *   signet-agent, and its LICENCES   one executable with a runtime in it, for this machine's platform
 */
import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { agent } from "../../src/cli/agent/agent-command.ts";
import { bundleAgent, oldestNodeMajor } from "./agent-bundle.ts";
import { writeDebianPackage } from "./debian-package.ts";
import { manPages } from "./man-pages.ts";
import { runProgram } from "./run-program.ts";

const root = join(import.meta.dirname, "../..");
const output = resolve(process.argv[2] ?? ".");
const licence = readFileSync(join(root, "LICENSE"), "utf8");

/** The launcher of the Debian package passes the same flags to the machine's Node.js. It says why. */
const runtimeFlags = ["--lite-mode", "--max-semi-space-size=1", "--disable-sigusr1"];

mkdirSync(output, { recursive: true });
const { program, licences } = await bundleAgent();
const notice = `${licence}\n\nThe program holds these packages:\n\n${licences}`;
if (spawnSync("dpkg-deb", ["--version"]).status === 0) console.log(await debianPackage());
else console.error("there is no dpkg-deb here, so no Debian package is made");
console.log(executable());

function debianPackage(): Promise<string> {
  return writeDebianPackage(
    {
      name: "signet-agent",
      architecture: "all",
      depends: `nodejs (>= ${oldestNodeMajor}), procps, util-linux`,
      description: `keeps the identity and the certificates of a machine
 Registers the machine with a Signet server, obtains client and serving
 certificates and those of the machine's services, renews them in time, keeps
 files with trust anchors up to date, and runs hooks.`,
      configuration: ["/etc/signet/agent.yaml"],
      scripts: "debian-agent",
      fill({ copy, write }) {
        write("usr/lib/signet-agent/signet-agent.cjs", program);
        copy("debian-agent/signet-agent", "usr/bin/signet-agent", 0o755);
        copy("systemd/signet-agent.service", "usr/lib/systemd/system/signet-agent.service");
        copy("debian-agent/sysusers.conf", "usr/lib/sysusers.d/signet-agent.conf");
        copy("debian-agent/agent.yaml", "etc/signet/agent.yaml");
        for (const [page, text] of manPages(agent("signet-agent", async () => {}))) {
          write(`usr/share/man/man1/${page}.gz`, gzipSync(text, { level: 9 }));
        }
        write("usr/share/doc/signet-agent/copyright", notice);
        for (const page of ["node-agent.md", "agent-reference.md"]) {
          write(`usr/share/doc/signet-agent/${page}`, readFileSync(join(root, "docs", page)));
        }
      },
    },
    output,
  );
}

/** A copy of this Node.js without its symbols, with the program inside. */
function executable(): string {
  const folder = mkdtempSync(join(tmpdir(), "signet-agent-executable-"));
  const file = join(output, "signet-agent");
  try {
    const runtime = join(folder, "node");
    copyFileSync(process.execPath, runtime);
    chmodSync(runtime, 0o755);
    if (spawnSync("strip", [runtime]).status !== 0)
      console.error("there is no strip here: the executable keeps symbols");
    writeFileSync(join(folder, "signet-agent.cjs"), program);
    const configuration = {
      main: "signet-agent.cjs",
      output: file,
      executable: runtime,
      execArgv: runtimeFlags,
      execArgvExtension: "none",
      disableExperimentalSEAWarning: true,
    };
    writeFileSync(join(folder, "sea.json"), JSON.stringify(configuration));
    rmSync(file, { force: true });
    runProgram([process.execPath, "--build-sea", "sea.json"], { folder });
    writeFileSync(`${file}.LICENCES`, `${notice}\n${runtimeLicence()}`);
    return file;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The licence of Node.js and of its parts, which npm installs beside it. */
function runtimeLicence(): string {
  const file = join(process.execPath, "../../LICENSE");
  return `Node.js ${process.version}\n\n${readFileSync(file, "utf8")}`;
}
