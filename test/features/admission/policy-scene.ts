import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { HttpResponse } from "../../../src/machinery/api/http-message.ts";
import { InProcess } from "../../server/in-process.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer, TestServerOptions } from "../../test-server.ts";

export interface Answer {
  readonly status: number;
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly warnings: readonly string[];
  readonly body: Readonly<Record<string, unknown>>;
}

const group = "/apis/admissionregistration.k8s.io/v1";

/** A server with an administrator and a user `ada` who may do everything by a binding, and policies. */
export class PolicyScene {
  readonly server: TestServer;
  readonly #http: InProcess;
  readonly #folder: string;

  private constructor(server: TestServer, folder: string) {
    this.server = server;
    this.#http = new InProcess(server);
    this.#folder = folder;
  }

  static async start(options: TestServerOptions = {}): Promise<PolicyScene> {
    const folder = mkdtempSync(join(tmpdir(), "signet-policies-"));
    const tokenFile = join(folder, "tokens.csv");
    writeFileSync(tokenFile, 'root,root,1,"system:masters"\nada,ada,2,"dev"\nbob,bob,3,"ops"\n', { mode: 0o600 });
    const server = await startTestServer({ settings: { controllers: false }, ...options, tokenFile });
    return new PolicyScene(server, folder);
  }

  async stop(): Promise<void> {
    await this.server.stop();
    rmSync(this.#folder, { recursive: true });
  }

  async send(method: string, target: string, body?: unknown, { token = "root", type = "" } = {}): Promise<Answer> {
    const headers = type === "" ? {} : { "content-type": type };
    const answer: HttpResponse = await this.#http.send(target, { method, body, token, headers });
    const parsed = JSON.parse(String(answer.body)) as Record<string, unknown>;
    const warnings = [answer.headers["warning"] ?? []].flat().map((one) => one.replace(/^299 - "|"$/g, ""));
    return {
      status: answer.status,
      code: Number(parsed["code"]),
      reason: String(parsed["reason"]),
      message: String(parsed["message"]),
      warnings,
      body: parsed,
    };
  }

  /** A policy with a binding of the same name. */
  async policy(name: string, spec: Record<string, unknown>, binding: Record<string, unknown> = {}): Promise<void> {
    const created = await this.send("POST", `${group}/validatingadmissionpolicies`, policyOf(name, spec));
    if (created.status !== 201) throw new Error(created.message);
    await this.bind(name, { policyName: name, validationActions: ["Deny"], ...binding });
  }

  async bind(name: string, spec: Record<string, unknown>): Promise<void> {
    const created = await this.send("POST", `${group}/validatingadmissionpolicybindings`, {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name },
      spec,
    });
    if (created.status !== 201) throw new Error(created.message);
  }

  async clear(): Promise<void> {
    await this.send("DELETE", `${group}/validatingadmissionpolicybindings`);
    await this.send("DELETE", `${group}/validatingadmissionpolicies`);
  }
}

export const policyOf = (name: string, spec: Record<string, unknown>): Record<string, unknown> => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicy",
  metadata: { name },
  spec,
});

/** Rules for some resources of a group. */
export const matching = (
  resources: readonly string[],
  { apiGroups = [""], apiVersions = ["*"], operations = ["*"], ...more }: Record<string, unknown> = {},
): Record<string, unknown> => ({ resourceRules: [{ apiGroups, apiVersions, operations, resources }], ...more });

export const configMap = (name: string, more: Record<string, unknown> = {}): Record<string, unknown> => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...(more["metadata"] as object | undefined) },
  ...(more["data"] !== undefined && { data: more["data"] }),
});
