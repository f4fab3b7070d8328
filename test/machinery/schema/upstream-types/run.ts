// Writes upstream-types.txt anew and prints where our schemas differ: `node run.ts [version]`. It needs Go; see README.md.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { differences, encodeFacts } from "./facts.ts";
import { rootTypes, schemaFacts } from "./schema-facts.ts";
import { UpstreamFacts } from "./upstream-facts.ts";

const version = process.argv[2] ?? "latest";
const folder = mkdtempSync(join(tmpdir(), "upstream-types-"));

/** The folder and version of a Go module, which Go's proxy delivers. */
function download(module: string, wanted: string): { readonly Dir: string; readonly Version: string } {
  const text = execFileSync("go", ["mod", "download", "-json", `${module}@${wanted}`], {
    cwd: folder,
    encoding: "utf8",
  });
  return JSON.parse(text) as { Dir: string; Version: string }; // what `go help mod download` says
}

try {
  execFileSync("go", ["mod", "init", "signet.test/upstream"], { cwd: folder, stdio: "ignore" });
  const api = download("k8s.io/api", version);
  const apimachinery = download("k8s.io/apimachinery", api.Version);
  const upstream = new UpstreamFacts({ api: api.Dir, apimachinery: apimachinery.Dir });
  for (const id of rootTypes.keys()) upstream.add(id);
  const source = `From the Go modules k8s.io/api and k8s.io/apimachinery ${api.Version}, written by run.ts.`;
  writeFileSync(new URL("upstream-types.txt", import.meta.url), encodeFacts(upstream.facts, source));
  for (const [what, difference] of differences(upstream.facts, schemaFacts())) console.log(`${what}\n  ${difference}`);
} finally {
  rmSync(folder, { recursive: true });
}
