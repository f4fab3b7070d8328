/** Keeps a deleted owner until its dependents do not refer to it any more. Upstream: `FinalizerOrphanDependents`. */
export const orphanFinalizer = "orphan";

/** Keeps a deleted owner until the dependents that block it are gone. Upstream: `FinalizerDeleteDependents`. */
export const foregroundFinalizer = "foregroundDeletion";
