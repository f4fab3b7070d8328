import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createLocalJWKSet, jwtVerify } from "jose";
import type { JSONWebKeySet } from "jose";
import { InProcess } from "../../server/in-process.ts";
import { startTestServer } from "../../test-server.ts";

const program = join(import.meta.dirname, "../../../.clients/go/go-signer");
const skip = existsSync(program) ? false : "the signer in Go is not built: npm run clients:install -- go";

describe("an external signer in Go, on Kubernetes' own module and gRPC's", { skip }, () => {
  it("signs tokens that are valid for this server and for relying parties", async () => {
    const folder = mkdtempSync(join(tmpdir(), "signet-go-signer-"));
    const socket = join(folder, "signer.sock");
    const signer = spawn(program, [socket], { stdio: ["ignore", "pipe", "inherit"] });
    try {
      await once(signer.stdout, "data");
      const settings = { controllers: false, "service-account-signing-endpoint": `unix://${socket}` };
      const server = await startTestServer({ settings });
      const api = new InProcess(server);
      const accounts = "/api/v1/namespaces/default/serviceaccounts";
      await api.json(accounts, { method: "POST", body: { metadata: { name: "robot" } } });
      const answer = await api.json<{ status: { token: string }; spec: { expirationSeconds: number } }>(
        `${accounts}/robot/token`,
        { method: "POST", body: { spec: { audiences: ["vault"], expirationSeconds: 86_400 } } },
      );
      assert.equal(answer.spec.expirationSeconds, 7200);
      const { token } = answer.status;
      const keySet = await api.json<JSONWebKeySet>("/openid/v1/jwks");
      const { protectedHeader } = await jwtVerify(token, createLocalJWKSet(keySet), { audience: "vault" });
      assert.equal(protectedHeader.kid, "go-signer-1");
      const review = await api.json<{ status: { user: { username: string } } }>(
        "/apis/authentication.platform.io/v1/tokenreviews",
        { method: "POST", body: { spec: { token, audiences: ["vault"] } } },
      );
      assert.equal(review.status.user.username, "system:serviceaccount:default:robot");
    } finally {
      signer.kill();
      rmSync(folder, { recursive: true });
    }
  });
});
