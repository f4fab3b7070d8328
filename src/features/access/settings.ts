import type { Flags, FlagValues } from "../../machinery/command-line/settings/flag.ts";
import type { FrontProxyHeaders } from "./credentials/front-proxy.ts";
import type { ImpersonationOnly } from "./credentials/impersonation.ts";

export const accessFlags = {
  "client-ca-file": {
    type: "file",
    isFollowed: true,
    help: "PEM bundle of CAs for client certificates, in addition to the server's own CAs.",
  },
  "token-auth-file": {
    type: "file",
    isFollowed: true,
    help: 'CSV file of static tokens: token,user,uid,"group1,group2".',
  },
  "anonymous-auth": {
    type: "boolean",
    default: true,
    help: "Treat requests without credentials as the user system:anonymous. When false, and always with AlwaysAllow, they get a 401.",
  },
  "requestheader-client-ca-file": {
    type: "file",
    isFollowed: true,
    help: "PEM bundle of CAs for the client certificates of front proxies. Default: no front proxy is trusted.",
  },
  "requestheader-allowed-names": {
    type: "strings",
    help: "Allowed common names of front proxy certificates. Empty: any name.",
  },
  "requestheader-username-headers": {
    type: "strings",
    default: ["X-Remote-User"],
    help: "Headers with the user name. The first one that is set is used.",
  },
  "requestheader-uid-headers": {
    type: "strings",
    default: ["X-Remote-Uid"],
    help: "Headers with the user's uid. The first one that is set is used.",
  },
  "requestheader-group-headers": {
    type: "strings",
    default: ["X-Remote-Group"],
    help: "Headers with the groups of the user.",
  },
  "requestheader-extra-headers-prefix": {
    type: "strings",
    default: ["X-Remote-Extra-"],
    help: "Prefixes of headers with extra attributes of the user.",
  },
  "requestheader-user-required": {
    type: "boolean",
    default: false,
    help: "Refuse requests of a front proxy that name no user, even when they carry another credential.",
  },
  "impersonation-only-users": {
    type: "strings",
    help: "Users who may only impersonate: without the header Impersonate-User they are refused. For proxies.",
  },
  "impersonation-only-groups": {
    type: "strings",
    help: "Groups whose members may only impersonate: without the header Impersonate-User they are refused.",
  },
} as const satisfies Flags;

export interface AccessSettings {
  readonly clientAuthorityFile: string | undefined;
  readonly tokenFile: string | undefined;
  readonly isAnonymousWanted: boolean;
  readonly frontProxy: {
    /** The file with the CAs of front proxies. Undefined: no front proxy is trusted. */
    readonly authorityFile: string | undefined;
    readonly allowedNames: readonly string[];
    readonly headers: FrontProxyHeaders;
    readonly isUserRequired: boolean;
  };
  readonly impersonationOnly: ImpersonationOnly;
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
});

/** Node.js gives header names in lower case. */
const lowerCase = (names: readonly string[]): string[] => names.map((name) => name.toLowerCase());
