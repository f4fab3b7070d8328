/**
 * Builds what is published twice and compares the bytes: npm run test:reproducible. Each build has a clone of the last commit
 * of its own, in another folder, with another umask and its own `npm ci`. Prints a line for each file; a difference ends it
 * with status 1.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

const root = join(import.meta.dirname, "../..");
const place = mkdtempSync(join(tmpdir(), "signet-reproducible-"));

const hasDpkg = spawnSync("dpkg-deb", ["--version"]).status === 0;
const build = `
set -e
git clone --quiet "$1" "$2"
cd "$2"
npm ci --prefer-offline --no-audit --no-fund > /dev/null
npm pack --silent > /dev/null
npm run --silent sbom > signet.cdx.json
npm run --silent licences > licences.txt
${hasDpkg ? "npm run --silent package:deb > /dev/null" : ""}
`;

/** The hash of each file that a build makes, by name. */
function hashesOf(folder: string, umask: string): Map<string, string> {
  const path = (process.env["PATH"] ?? "").split(delimiter).filter((one) => !one.includes("node_modules"));
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("npm_")));
  const options = { env: { ...env, PATH: path.join(delimiter) }, encoding: "utf8" } as const;
  const { status, stderr } = spawnSync("sh", ["-c", `umask ${umask}\n${build}`, "sh", root, folder], options);
  if (status !== 0) throw new Error(stderr);
  const made = readdirSync(folder).filter((name) => /\.(?:tgz|deb)$|^signet\.cdx\.json$|^licences\.txt$/.test(name));
  return new Map(
    made.map((name) => [
      name,
      createHash("sha256")
        .update(readFileSync(join(folder, name)))
        .digest("hex"),
    ]),
  );
}

try {
  const first = hashesOf(join(place, "one"), "022");
  const second = hashesOf(join(place, "the other clone"), "077");
  for (const [name, hash] of first) {
    const isSame = second.get(name) === hash;
    console.log(`${name}: ${isSame ? `the same bytes, SHA-256 ${hash}` : "DIFFERENT BYTES"}`);
    if (!isSame) process.exitCode = 1;
  }
  if (!hasDpkg) console.log("no Debian package: dpkg-deb is not installed");
} finally {
  rmSync(place, { recursive: true, force: true });
}
