import { ApiError } from "../api/api-error.ts";
import type { ApiObject } from "../api/object-meta.ts";
import type { NamedResourceType } from "../api/resource-type.ts";
import { LongWork } from "../scheduling/long-work.ts";
import { deletionDelayMilliseconds } from "../scheduling/deletion-delays.ts";
import { messageOf } from "../api/thrown-error.ts";
import { controllerQueue } from "./controller.ts";
import type { Controller, ControllerContext } from "./controller.ts";
import { deleteWithUid } from "./delete-with-uid.ts";

interface HourlyCleanerOptions<T extends ApiObject> {
  readonly name: string;
  /** A resource of the cluster scope. */
  readonly resource: NamedResourceType<T>;
  /** Called when the loop starts. Returns a function that says whether an object is to be deleted. */
  readonly isDue: (context: ControllerContext) => (object: T) => boolean;
  /** Which objects are deleted, for people. */
  readonly what: string;
}

const everything = "everything";

/**
 * A controller that checks all objects of a resource every hour, and deletes the objects for which `isDue` holds in two checks in a row.
 * So a clock that is wrong for a moment deletes nothing. An object whose deletion is refused, for instance by an admission policy, does not
 * hold up the others, and is tried again at the next check.
 */
export const hourlyCleaner = <T extends ApiObject>(options: HourlyCleanerOptions<T>): Controller => ({
  name: options.name,
  start(context) {
    const { client, informers, log } = context;
    const type = options.resource(context.names);
    const objects = informers.of(type);
    const isDue = options.isDue(context);
    /** The uids of the objects that were due at the last check. */
    let dueBefore: ReadonlySet<string> = new Set();
    const queue = controllerQueue(context, {
      reconcile: async () => {
        queue.addAfter(everything, deletionDelayMilliseconds);
        const work = new LongWork();
        const due = new Set<string>();
        let [removed, failures] = [0, 0];
        let firstFailure = "";
        for (const object of objects.list()) {
          await work.pause();
          if (!isDue(object)) continue;
          const { uid = "" } = object.metadata;
          due.add(uid);
          if (!dueBefore.has(uid)) continue;
          try {
            await deleteWithUid(client.resource(type), object);
            removed++;
          } catch (error) {
            if (!isRefusal(error)) throw error;
            if (failures === 0) firstFailure = messageOf(error);
            failures++;
          }
        }
        dueBefore = due;
        if (failures > 0) {
          const fields = { controller: options.name, failures, error: firstFailure };
          log.error(fields, "could not delete some objects, and will retry in an hour; the error is that of the first");
        }
        return `removed ${removed} ${options.what}`;
      },
    });
    return { queue, onSynced: () => queue.add(everything) };
  },
});

/** Whether the failure may concern only this object. A server that is busy or out of reach would fail for all. */
const isRefusal = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.code <= 500 && error.code !== 429;
