import type { Secret } from "../../core/index.ts";
import { controllerQueue } from "../../../machinery/loops/controller.ts";
import type { Controller } from "../../../machinery/loops/controller.ts";
import { deleteWithUid } from "../../../machinery/loops/delete-with-uid.ts";
import { objectKey } from "../../../machinery/loops/informer.ts";
import { DeletionDelays } from "../../../machinery/scheduling/deletion-delays.ts";
import { secretResource } from "../../core/index.ts";
import { bootstrapTokenEnd, bootstrapTokenOf, isBootstrapSecret } from "./bootstrap-token-secret.ts";

/**
 * Deletes expired bootstrap tokens (upstream: the tokencleaner). Unlike upstream it waits as `DeletionDelays` says: otherwise, a clock that
 * is ahead for a moment would delete the tokens of machines that have yet to join.
 */
export const bootstrapTokenCleaner: Controller = {
  name: "tokencleaner",
  start(context) {
    const { client, clock, monotonic, informers, names } = context;
    const secrets = informers.of(secretResource(names));
    const namespace = names.namespaces.system;
    const delays = new DeletionDelays(monotonic);
    const queue = controllerQueue(context, {
      reconcile: async (key) => {
        const found = secrets.get(key);
        // A Secret of another type may have been created with this name.
        const secret = found !== undefined && isBootstrapSecret(names, found) ? found : undefined;
        const end = secret && bootstrapTokenEnd(bootstrapTokenOf(secret).expiration);
        const left = (end ?? Infinity) - clock.now();
        if (secret === undefined || left > 0) delays.forget(key);
        if (secret === undefined) return "nothing to do: the token is gone";
        if (end === undefined) return "nothing to do: the token never expires";
        if (left > 0) {
          queue.addAfter(key, left);
          return `waits: the token expires in ${Math.ceil(left / 1000)} s`;
        }
        const wait = delays.wait(key);
        if (wait > 0) {
          queue.addAfter(key, wait);
          return `waits: the token has expired, and is removed in ${Math.ceil(wait / 1000)} s`;
        }
        await deleteWithUid(client.resource(secretResource(names), namespace), secret);
        delays.forget(key); // its name may be used again
        return "removed the token: it has expired";
      },
    });
    const add = (secret: Secret): void => {
      if (isBootstrapSecret(names, secret)) queue.add(objectKey(secret));
    };
    secrets.addHandler({ onAdd: add, onUpdate: add });
    return { queue };
  },
};
