import { writeFileSync } from "node:fs";

/** The approval policy that lets each simulated machine have its serving certificate, and the flag that names it. */
export function writeServingApprovalPolicy(file: string): `--approval-policy=${string}` {
  writeFileSync(
    file,
    `rules:
  - name: node-serving
    match: { signers: [platform.io/nodeagent-serving], groups: ["system:nodes"] }
    action: approve
    require: { namesBelongToNode: true, ipRanges: [10.9.0.0/16] }
`,
  );
  return `--approval-policy=${file}`;
}
