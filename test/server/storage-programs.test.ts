import assert from "node:assert/strict";
import { it } from "node:test";
import { unreadableSourceAdvice } from "../../src/server/backup/storage-programs.ts";

it("the advice to give up an object that can't be moved names it so that a shell takes it as one word", () => {
  const advised = (key: string): string => unreadableSourceAdvice({ key, isKmsUnavailable: false });
  const command = "put its key back, or give it up: signet encryption discard ";
  assert.equal(advised("/registry/secrets/default/web"), `${command}/registry/secrets/default/web`);
  const path = "/registry/rbac.authorization.k8s.io/clusterroles";
  assert.equal(advised(`${path}/a;reboot`), `${command}'${path}/a;reboot'`);
});
