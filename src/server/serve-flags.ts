import { accessFlags } from "../features/access/settings.ts";
import { accountFlags } from "../features/accounts/settings.ts";
import { controllerFlags } from "./controller-flags.ts";
import { logFlags } from "../machinery/command-line/log-flags.ts";
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
  ...accessFlags,
  ...accountFlags,
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
  ...logFlags,
} as const satisfies Flags;

export type ServeOptions = FlagValues<typeof serveFlags>;
