/** Prints a bill of materials (CycloneDX, JSON) of what an install has: npm run sbom. The same commit prints the same bytes. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { signetVersion } from "../../src/server/signet-version.ts";
import { dependencies } from "./licences.ts";
import { runProgram } from "./run-program.ts";

const root = join(import.meta.dirname, "../..");

/** The part of npm's output that this program changes. */
interface BillOfMaterials {
  serialNumber: string;
  readonly metadata: { timestamp: string; readonly component: { name: string } };
  components: { readonly "bom-ref": string }[];
  dependencies: { readonly ref: string; dependsOn: string[] }[];
}

const flags = ["--sbom-format=cyclonedx", "--sbom-type=application", "--package-lock-only"];
const bill = JSON.parse(runProgram(["npm", "sbom", ...flags])) as BillOfMaterials;
// npm's own --omit=dev also leaves out a package of ours that a package for development needs too.
const shipped = new Set(dependencies().map(({ name, version }) => `${name}@${version}`));
bill.components = bill.components.filter((component) => shipped.has(component["bom-ref"]));
bill.dependencies = bill.dependencies
  .filter(({ ref }) => shipped.has(ref) || ref === `signet@${signetVersion}`)
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => shipped.has(one)) }));
// By default, npm writes the folder's name, the time and a random number here.
bill.metadata.component.name = "signet";
bill.metadata.timestamp = new Date(Number(runProgram(["git", "log", "-1", "--format=%ct"])) * 1000).toISOString();
const hash = createHash("sha256")
  .update(readFileSync(join(root, "package-lock.json")))
  .digest("hex");
const [, a = "", b = "", c = "", d = ""] = /^(.{8})(.{4}).(.{3}).(.{15})/.exec(hash) ?? [];
bill.serialNumber = `urn:uuid:${a}-${b}-5${c}-8${d.slice(0, 3)}-${d.slice(3)}`;
console.log(JSON.stringify(bill, null, 2));
