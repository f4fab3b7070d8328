import type { Flags, FlagValues } from "../../machinery/command-line/flag.ts";
import type { FrontProxyHeaders } from "./credentials/front-proxy.ts";
import type { ImpersonationOnly } from "./credentials/impersonation.ts";

export const accessFlags = {
  "client-ca-file": {
    type: "file",
    help: "PEM bundle of CAs whose client certificates authenticate, besides the server's own CA.",
  },
  "token-auth-file": { type: "file", help: 'CSV file of static tokens: token,user,uid,"group1,group2".' },
  "anonymous-auth": {
    type: "boolean",
    default: true,
    help: "Requests without credentials are the user system:anonymous; false, as always with AlwaysAllow, answers them 401.",
  },
  "requestheader-client-ca-file": {
    type: "file",
    help: "PEM bundle of CAs that sign front proxies' client certificates. Without it no front proxy is believed.",
  },
  "requestheader-allowed-names": {
    type: "strings",
    help: "Common names that a front proxy's certificate may have; empty: any.",
  },
  "requestheader-username-headers": {
    type: "strings",
    default: ["X-Remote-User"],
    help: "Headers that hold the user name, in order.",
  },
  "requestheader-uid-headers": {
    type: "strings",
    default: ["X-Remote-Uid"],
    help: "Headers that hold the user's uid, in order.",
  },
  "requestheader-group-headers": {
    type: "strings",
    default: ["X-Remote-Group"],
    help: "Headers that hold the groups.",
  },
  "requestheader-extra-headers-prefix": {
    type: "strings",
    default: ["X-Remote-Extra-"],
    help: "Prefixes of headers that hold extra attributes.",
  },
  "requestheader-user-required": {
    type: "boolean",
    default: false,
    help: "A front proxy's request that names no user is refused, whatever other credentials it carries.",
  },
  "impersonation-only-users": {
    type: "strings",
    help: "Users who may act only for others: without Impersonate-User they are refused. For proxies that impersonate.",
  },
  "impersonation-only-groups": {
    type: "strings",
    help: "Groups whose members may act only for others: without Impersonate-User they are refused.",
  },
  "authorization-mode": {
    type: "strings",
    default: ["Node", "RBAC"],
    choices: ["Node", "RBAC", "AlwaysAllow"],
    help: "Authorizers, in the order in which they are asked. AlwaysAllow is for development only.",
  },
} as const satisfies Flags;

export type AuthorizationMode = FlagValues<typeof accessFlags>["authorization-mode"][number];

export interface AccessSettings {
  readonly clientAuthorityFile: string | undefined;
  readonly tokenFile: string | undefined;
  readonly isAnonymousWanted: boolean;
  readonly frontProxy: {
    /** Without it no front proxy is believed. */
    readonly authorityFile: string | undefined;
    readonly allowedNames: readonly string[];
    readonly headers: FrontProxyHeaders;
    readonly isUserRequired: boolean;
  };
  readonly impersonationOnly: ImpersonationOnly;
  /** The authorizers, in the order in which they are asked. */
  readonly authorizationModes: readonly AuthorizationMode[];
}

export const accessSettings = (values: FlagValues<typeof accessFlags>): AccessSettings => ({
  clientAuthorityFile: values["client-ca-file"],
  tokenFile: values["token-auth-file"],
  isAnonymousWanted: values["anonymous-auth"],
  frontProxy: {
    authorityFile: values["requestheader-client-ca-file"],
    allowedNames: values["requestheader-allowed-names"],
    headers: {
      usernameHeaders: lowerCase(values["requestheader-username-headers"]),
      uidHeaders: lowerCase(values["requestheader-uid-headers"]),
      groupHeaders: lowerCase(values["requestheader-group-headers"]),
      extraHeaderPrefixes: lowerCase(values["requestheader-extra-headers-prefix"]),
    },
    isUserRequired: values["requestheader-user-required"],
  },
  impersonationOnly: { users: values["impersonation-only-users"], groups: values["impersonation-only-groups"] },
  authorizationModes: values["authorization-mode"],
});

/** Headers arrive in lower case. */
const lowerCase = (names: readonly string[]): string[] => names.map((name) => name.toLowerCase());
