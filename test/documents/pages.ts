import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { skipsEtcd } from "../machinery/storage/etcd/etcd-process.ts";

/** The Python that `npm run clients:install -- python` makes, with the packages of its requirements. */
export const pythonPrograms = join(import.meta.dirname, "../../.clients/python/bin");

/** A page whose commands and outputs a test checks. */
export interface Page {
  readonly file: string;
  /** The server that the commands talk to: the test's own, or one that the page's commands start. */
  readonly server: "in memory" | "started by the page";
  /** The ports of the servers that the page's commands start. The test replaces them by free ports. */
  readonly ports?: readonly string[];
  /** The folder in which the page's commands run. The test replaces it by its own folder. */
  readonly folder?: string;
  /** Files of the repository that the page's commands read. */
  readonly copies?: readonly string[];
  /** npm packages that its programs import, besides signet. */
  readonly packages?: readonly string[];
  /** Why it cannot run on this machine. */
  readonly missing?: string | undefined;
}

export const pages: readonly Page[] = [
  { file: "docs/tokens.md", server: "in memory" },
  {
    file: "docs/federation.md",
    server: "started by the page",
    ports: ["6443"],
    packages: ["jose"],
    missing: missingForFederation(),
  },
  { file: "docs/other-issuers.md", server: "started by the page", ports: ["6443", "7443"] },
  { file: "docs/rbac.md", server: "in memory" },
  { file: "docs/authorization.md", server: "started by the page", ports: ["6443", "7443"], folder: "/etc/signet" },
  { file: "docs/admission-policies.md", server: "in memory" },
  { file: "docs/certificates.md", server: "started by the page", ports: ["6443"] },
  { file: "docs/signers.md", server: "started by the page", ports: ["6443"] },
  { file: "docs/serves.md", server: "in memory" },
  { file: "docs/backup.md", server: "started by the page", ports: ["6443"] },
  {
    file: "docs/replicas.md",
    server: "started by the page",
    ports: ["2379", "2380", "6443", "7443"],
    missing: skipsEtcd || undefined,
  },
  { file: "docs/operations.md", server: "started by the page", ports: ["6443"] },
  { file: "docs/observe.md", server: "started by the page", ports: ["6443"] },
  { file: "docs/revocation.md", server: "started by the page", ports: ["6443", "8080"] },
  { file: "docs/keys.md", server: "started by the page", ports: ["6443"] },
  { file: "docs/break-in.md", server: "started by the page", ports: ["6443", "7443"] },
  {
    file: "docs/external-keys.md",
    server: "started by the page",
    ports: ["6443"],
    folder: "/etc/signet",
    missing: missingForExternalKeys(),
  },
  { file: "docs/encryption.md", server: "started by the page", ports: ["6443", "7443"] },
  { file: "docs/audit.md", server: "started by the page", ports: ["6443"] },
  { file: "docs/node-agent.md", server: "started by the page", ports: ["6443", "10250"] },
  {
    file: "docs/services.md",
    server: "started by the page",
    ports: ["6443", "10250", "8443", "9443", "5432"],
    folder: "/tmp/walk",
    copies: ["test/end-to-end/services/Service.java"],
    missing: missingForServices(),
  },
];

/** What `docs/federation.md` needs and this machine lacks. */
function missingForFederation(): string | undefined {
  const { status } = spawnSync(join(pythonPrograms, "python3"), ["-c", "import cryptography, jwt"]);
  return status === 0 ? undefined : "PyJWT is not installed (npm run clients:install -- python)";
}

/** What `docs/external-keys.md` needs and this machine lacks. */
function missingForExternalKeys(): string | undefined {
  const missing = missingProgram(["softhsm2-util", "p11-kit", "pkcs11-tool"]);
  return missing && `${missing} is not installed (npm run clients:install -- tokens)`;
}

/** What `docs/services.md` needs and this machine lacks. */
function missingForServices(): string | undefined {
  if (process.getuid?.() !== 0) return "it gives files to PostgreSQL's user, and you are not root";
  const missing = missingProgram(["nginx", "psql", "java"]);
  return missing && `${missing} is not installed`;
}

function missingProgram(programs: readonly string[]): string | undefined {
  return programs.find((program) => spawnSync("which", [program]).status !== 0);
}
