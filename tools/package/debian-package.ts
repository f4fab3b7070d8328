import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import type { MaybePromise } from "../../src/machinery/api/maybe-promise.ts";
import { signetVersion } from "../../src/server/signet-version.ts";
import { runProgram } from "./run-program.ts";

const root = join(import.meta.dirname, "../..");

export interface DebianPackage {
  readonly name: string;
  /** `all`, or the architecture of this machine. */
  readonly architecture: string;
  readonly depends: string;
  readonly suggests?: string;
  /** The first line is the summary, the others begin with a space. */
  readonly description: string;
  /** Settings: files that belong to the administrator after the installation. */
  readonly configuration: readonly string[];
  /** Where the maintainer scripts are. */
  readonly scripts: string;
  readonly fill: (tree: DebianTree) => MaybePromise<void>;
}

/** The files of a package. Paths have no slash at the start. */
export interface DebianTree {
  readonly folder: string;
  write(path: string, contents: string | Uint8Array, mode?: number): void;
  /** Copies a file of `packaging`. */
  copy(source: string, path: string, mode?: number): void;
  link(path: string, target: string): void;
}

/**
 * Makes a package in the folder, and returns its file. The same commit makes the same bytes. Rejects with an Error that has the
 * output of the program that failed.
 */
export async function writeDebianPackage(
  { name, architecture, depends, suggests, description, configuration, scripts, fill }: DebianPackage,
  output: string,
): Promise<string> {
  process.umask(0o022); // modes of files do not depend on who builds
  const file = join(output, `${name}_${signetVersion}_${architecture}.deb`);
  const folder = mkdtempSync(join(tmpdir(), `${name}-deb-`));
  const tree = treeIn(folder);
  try {
    chmodSync(folder, 0o755);
    await fill(tree);
    tree.write(`usr/share/doc/${name}/changelog.gz`, gzipSync(readFileSync(join(root, "CHANGELOG.md")), { level: 9 }));
    const kibibytes =
      runProgram(["du", "--summarize", "--apparent-size", "--block-size=1024", folder]).split("\t", 1)[0] ?? "0";
    tree.write(
      "DEBIAN/control",
      `Package: ${name}
Version: ${signetVersion}
Architecture: ${architecture}
Maintainer: The Signet authors <signet@localhost>
Installed-Size: ${kibibytes}
Depends: ${depends}
Recommends: systemd
${suggests === undefined ? "" : `Suggests: ${suggests}\n`}Section: admin
Priority: optional
Description: ${description}
`,
    );
    tree.write("DEBIAN/conffiles", configuration.map((path) => `${path}\n`).join(""));
    for (const script of ["postinst", "prerm", "postrm"]) {
      tree.copy(join(scripts, script), `DEBIAN/${script}`, 0o755);
    }
    mkdirSync(output, { recursive: true });
    const epoch = process.env["SOURCE_DATE_EPOCH"] ?? runProgram(["git", "log", "-1", "--format=%ct"]).trim();
    const level = process.env["DPKG_DEB_COMPRESSOR_LEVEL"] ?? "9"; // dpkg's own variable, for those who build often
    const flags = ["--root-owner-group", "-Zzstd", `-z${level}`, "--threads-max=1"];
    runProgram(["dpkg-deb", ...flags, "--build", folder, file], { environment: { SOURCE_DATE_EPOCH: epoch } });
    return file;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The architecture of this machine. */
export const debianArchitecture = (): string => runProgram(["dpkg", "--print-architecture"]).trim();

function treeIn(folder: string): DebianTree {
  const write: DebianTree["write"] = (path, contents, mode = 0o644) => {
    const target = join(folder, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, contents, { mode });
  };
  return {
    folder,
    write,
    copy: (source, path, mode) => write(path, readFileSync(join(root, "packaging", source)), mode),
    link(path, target) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      symlinkSync(target, join(folder, path));
    },
  };
}
