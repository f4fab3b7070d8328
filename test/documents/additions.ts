/**
 * One example of each thing that CONTRIBUTING.md says how to add: what a newcomer writes, file by file.
 * `where-to-add.test.ts` makes these changes in a copy of the repository.
 */

/** `find` occurs once in the file; `replacement` comes in its place. */
interface Change {
  readonly file: string;
  readonly find: string;
  readonly replacement: string;
}

export interface Addition {
  /** The section of CONTRIBUTING.md. */
  readonly section: string;
  /** New files and what is in them. */
  readonly files: Readonly<Record<string, string>>;
  readonly changes: readonly Change[];
  /** Node.js scripts that the section says to run afterwards, with their arguments. */
  readonly scripts: readonly (readonly string[])[];
  /** Files that those scripts write. */
  readonly written: readonly string[];
}

const before = (file: string, anchor: string, text: string): Change => ({
  file,
  find: anchor,
  replacement: `${text}\n${anchor}`,
});

const kind: Addition = {
  section: "Add a kind",
  files: {
    "src/features/core/widgets.ts": `import { invalidValue } from "../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../machinery/api/validation/field-error.ts";
import { validateDnsSubdomainName } from "../../machinery/api/validation/name-validation.ts";
import type { Names } from "../../machinery/api/names.ts";
import { ageColumn, nameColumn } from "../../machinery/registry/definition/columns.ts";
import { defineResource } from "../../machinery/registry/definition/resource-definition.ts";
import type { ResourceDefinition } from "../../machinery/registry/definition/resource-definition.ts";
import { objectFields } from "../../machinery/schema/meta-schemas.ts";
import { int32, object } from "../../machinery/schema/schema.ts";
import type { Infer } from "../../machinery/schema/schema.ts";

const widgetSchema = object({
  goType: "v1.Widget",
  description: "A part of a machine.",
  fields: {
    ...objectFields,
    size: { number: 2, schema: int32, description: "How large it is, in millimetres." },
  },
});

type Widget = Infer<typeof widgetSchema>;

/** Parts of machines. */
export const widgets = (names: Names): ResourceDefinition<Widget> =>
  defineResource({
    group: names.group("signet"),
    version: "v1",
    kind: "Widget",
    plural: "widgets",
    scope: "Namespaced",
    schema: widgetSchema,
    validateName: validateDnsSubdomainName,
    validate,
    validateUpdate: validate,
    columns: [
      nameColumn(names),
      { name: "Size", type: "integer", description: "How large it is.", cell: ({ size = 0 }) => size },
      ageColumn(names),
    ],
  });

function validate({ size = 0 }: Widget): FieldError[] {
  return size < 0 ? [invalidValue("size", { value: size, detail: "must not be negative" })] : [];
}
`,
  },
  changes: [
    before(
      "src/features/core/feature.ts",
      'import { secrets } from "./secrets.ts";',
      'import { widgets } from "./widgets.ts";',
    ),
    { file: "src/features/core/feature.ts", find: "kind(services),", replacement: "kind(services), kind(widgets)," },
    { file: "docs/serves.md", find: "Secret, Event, Lease;", replacement: "Secret, Event, Lease, Widget;" },
  ],
  scripts: [["tools/reference/write.ts", "api"]],
  written: ["docs/reference/api.md", "docs/reference/api/widget.md"],
};

const signer: Addition = {
  section: "Add a signer",
  files: {
    "src/features/certificates/signers/service-serving.ts": `import type { WellKnownSigner } from "./signer.ts";

/** Serving certificates of services. */
export const serviceServing = {
  shortName: "service-serving",
  nameIn: ({ domain }) => \`\${domain}/service-serving\`,
  certifies: "user",
  isClientAuthenticating: false,
  holdsNodeNames: false,
  isApprovedAutomatically: false,
  faults: ({ subjectAltNames }, usages) => [
    ...(subjectAltNames.dnsNames.length === 0 ? ["DNS subjectAltName is required"] : []),
    ...(usages.length === 1 && usages[0] === "server auth" ? [] : ["usages must be server auth alone"]),
  ],
} as const satisfies WellKnownSigner;
`,
  },
  changes: [
    before(
      "src/features/certificates/signers/well-known-signers.ts",
      'import type { WellKnownSigner } from "./signer.ts";',
      'import { serviceServing } from "./service-serving.ts";',
    ),
    {
      file: "src/features/certificates/signers/well-known-signers.ts",
      find: "nodeAgentServing] as const",
      replacement: "nodeAgentServing, serviceServing] as const",
    },
    before(
      "test/features/certificates/signers/signer-contract.test.ts",
      "  [\n    signerNames.nodeAgentServing(platformNames),",
      `  [
    "platform.io/service-serving",
    {
      subject: { commonName: "shop" },
      subjectAltNames: { ...noSubjectAltNames, dnsNames: ["shop.example.com"] },
      usages: ["server auth"],
      usage: "serverAuth",
    },
  ],`,
    ),
  ],
  scripts: [["tools/reference/write.ts", "settings"]],
  written: ["docs/reference/settings.md"],
};

const credential: Addition = {
  section: "Add a credential",
  files: {
    "src/features/access/credentials/api-key.ts": `import type { UserInfo } from "../../../machinery/api/user-info.ts";
import { notApplicable, refused } from "../../../machinery/authentication/credential.ts";
import type { Credential } from "../../../machinery/authentication/credential.ts";
import { firstHeaderValue } from "../../../machinery/authentication/header-values.ts";

/** A key in the header X-Api-Key; \`users\` has the user of each key. */
export const apiKey = (users: ReadonlyMap<string, UserInfo>): Credential => ({
  name: "API key",
  headers: { names: ["x-api-key"], prefixes: [] },
  authenticate({ headers }) {
    const key = firstHeaderValue(headers, "x-api-key");
    if (key === "") return notApplicable;
    const user = users.get(key);
    return user === undefined ? refused("unknown API key") : { outcome: "authenticated", user };
  },
});
`,
  },
  changes: [
    before(
      "src/server/authentication.ts",
      'import { impersonationHeaders } from "../features/access/credentials/impersonation.ts";',
      'import { apiKey } from "../features/access/credentials/api-key.ts";',
    ),
    before("src/server/authentication.ts", "    bearerToken(verifyToken, apiAudiences),", "    apiKey(new Map()),"),
    before(
      "test/server/credentials/credential-contract.test.ts",
      "import { frontProxy,",
      'import { apiKey } from "../../../src/features/access/credentials/api-key.ts";',
    ),
    before(
      "test/server/credentials/credential-contract.test.ts",
      '  "a client certificate": {',
      `  "an API key": {
    credential: apiKey(new Map([["k1", { username: "robot", groups: [], extra: {} }]])),
    absent: { "no header": request() },
    bad: { "an unknown key": request({ "x-api-key": "k2" }) },
    good: request({ "x-api-key": "k1" }),
    username: "robot",
  },`,
    ),
  ],
  scripts: [],
  written: [],
};

export const additions: readonly Addition[] = [kind, signer, credential];
