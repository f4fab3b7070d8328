import { controllerFlags } from "./controller-flags.ts";
import type { FlagValues, Flags } from "../machinery/command-line/flag.ts";

/** The settings of `signet serve`: kube-apiserver's and kube-controller-manager's names where they have one. */
export const serveFlags = {
  "data-dir": {
    type: "string",
    default: "./.signet",
    help: "Where everything is stored: objects, CA, keys, admin.kubeconfig.",
  },
  "etcd-servers": {
    type: "strings",
    help: "URLs of etcd's members, for several replicas of the server. Default: the data directory's own store.",
  },
  "etcd-cafile": { type: "file", help: "PEM bundle of CAs that sign etcd's certificates. Default: the system's." },
  "etcd-certfile": { type: "file", help: "PEM client certificate for etcd." },
  "etcd-keyfile": { type: "file", help: "PEM private key of that certificate." },
  "etcd-prefix": { type: "string", default: "/signet", help: "What the names of all keys in etcd begin with." },
  "bind-address": { type: "string", default: "127.0.0.1", help: "The address to listen on." },
  "secure-port": {
    type: "integer",
    default: 6443,
    minimum: 0,
    maximum: 65_535,
    help: "The HTTPS port; 0 picks a free one.",
  },
  "advertise-address": {
    type: "string",
    help: "The host name or address that the written kubeconfig names. Default: the bind address.",
  },
  profile: {
    type: "string",
    default: "platform",
    choices: ["platform", "kubernetes"],
    help: "The names that the API uses: platform.io, or upstream's k8s.io and kubernetes.io. Fixed for a data directory.",
  },
  "tls-cert-file": {
    type: "file",
    help: "PEM file with the serving certificate and its chain. Default: one is made and renewed.",
  },
  "tls-private-key-file": { type: "file", help: "PEM file with the serving certificate's private key." },
  "tls-san": { type: "strings", help: "More DNS names and addresses for the serving certificate that is made." },
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
  "service-account-issuer": {
    type: "strings",
    help: "Issuer of tokens; the first issues, all are accepted. Default: https://<name>.default.svc.",
  },
  "api-audiences": { type: "strings", help: "Audiences of the API server. Default: the issuers." },
  "service-account-signing-key-file": {
    type: "file",
    help: "PEM private key that signs tokens (EC, RSA or Ed25519). Default: a P-256 key is made.",
  },
  "service-account-key-file": {
    type: "strings",
    help: "PEM files of keys that verify tokens, besides the signing key's. May be repeated.",
  },
  "service-account-max-token-expiration": {
    type: "duration",
    help: "The longest lifetime of an issued token; a longer request is shortened with a warning.",
  },
  "service-account-extend-token-expiration": {
    type: "boolean",
    default: true,
    help: "Pod tokens of 3607 s for the API audiences are issued for a year, with a warnafter claim.",
  },
  "service-account-public-discovery": {
    type: "boolean",
    default: false,
    help: "Everyone may read the issuer's discovery documents, without credentials.",
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
    help: "Authorizers in order: Node, RBAC, AlwaysAllow (development only).",
  },
  "max-requests-inflight": {
    type: "integer",
    default: 400,
    minimum: 1,
    maximum: 100_000,
    help: "Reading requests that are worked on at once; more wait by user.",
  },
  "max-mutating-requests-inflight": {
    type: "integer",
    default: 200,
    minimum: 1,
    maximum: 100_000,
    help: "Writing requests that are worked on at once; more wait by user.",
  },
  "max-request-bytes": {
    type: "integer",
    default: 1_572_864,
    minimum: 65_536,
    maximum: 3_145_728,
    help: "The largest object that is stored, in bytes; larger ones are refused (413). As etcd's flag of this name.",
  },
  "max-connections": {
    type: "integer",
    default: 10_000,
    minimum: 1,
    maximum: 1_000_000,
    help: "Connections at once, and never more than the limit on open files allows; more are closed before their TLS handshake.",
  },
  "max-connections-per-address": {
    type: "integer",
    default: 1000,
    minimum: 1,
    maximum: 1_000_000,
    help: "Connections at once of one client address (an IPv6 /64); raise it behind a TCP load balancer.",
  },
  workers: {
    type: "string",
    default: "1",
    help: "Processes that serve the port together: a number, or auto for one each core.",
  },
  ...controllerFlags,
  "audit-log-path": { type: "file", help: "JSON lines, one for each request that was answered; - is standard output." },
  "log-level": {
    type: "string",
    default: "info",
    choices: ["debug", "info", "warn", "error", "silent"],
    help: "What is logged.",
  },
} as const satisfies Flags;

export type ServeOptions = FlagValues<typeof serveFlags>;
